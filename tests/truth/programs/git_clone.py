# SPDX-License-Identifier: Apache-2.0
"""A clone from a server outside, half done: the parent finishes it, children see that the connection is gone."""

import glob
import os
import subprocess
import time

from truth import checkpoint, done, equal

CLONE = "/tmp/clone"
clone = subprocess.Popen(["git", "clone", "git://203.0.113.1/repo.git", CLONE], stderr=subprocess.PIPE, text=True)
while sum(map(os.path.getsize, glob.glob(CLONE + "/.git/objects/pack/tmp_pack_*"))) < 1_000_000:
    equal(clone.poll(), None)
    time.sleep(0.01)

me = checkpoint()
_, said = clone.communicate(timeout=25)
if me == "parent":
    equal((clone.returncode, said.count("fatal")), (0, 0))
    equal(os.path.getsize(CLONE + "/data"), 33_554_432)
    subprocess.run(["git", "-C", CLONE, "fsck", "--full", "--strict"], check=True)
else:
    equal(clone.returncode, 128)
    equal("fatal: early EOF" in said or "hung up" in said, True)
    equal(os.path.exists(CLONE), False)  # git cleans up after itself
    again = subprocess.run(["git", "ls-remote", "git://203.0.113.1/repo.git"], capture_output=True, text=True, timeout=20)
    equal((again.returncode, "HEAD" in again.stdout), (0, True))
done()
