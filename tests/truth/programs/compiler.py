# SPDX-License-Identifier: Apache-2.0
"""gcc caught at work on a long file, and bash with jobs, one of them stopped."""

import subprocess
import time

from truth import HERE, checkpoint, done, equal

with open(HERE + "/long.c", "w") as file:
    for i in range(1_000):
        file.write(f"int f{i}(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i * {i} ^ a; return s; }}\n")
    file.write('#include <stdio.h>\nint main(void) { printf("%d\\n", f999(3)); return 0; }\n')
gcc = subprocess.Popen(["gcc", "-O2", "-o", HERE + "/long", HERE + "/long.c"])
SCRIPT = """
set -m
(while [ ! -e /tmp/truth/go ]; do sleep 0.01; done; echo first) &
sleep 1000 & stopped=$!
kill -STOP $stopped
x=kept
read line
jobs -l | grep -c Stopped
kill -CONT $stopped; kill -KILL $stopped; wait $stopped; echo $?
wait; echo "$x $line"
"""
bash = subprocess.Popen(["bash", "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
time.sleep(0.3)
equal(gcc.poll(), None)

me = checkpoint()

out, _ = bash.communicate(me + "\n", timeout=20)
lines = out.split("\n")
equal(sorted(lines[:-2]), ["1", "137", "first"])
equal(lines[-2], f"kept {me}")
equal(gcc.wait(60), 0)
equal(subprocess.run([HERE + "/long"], capture_output=True, text=True).stdout, f"{sum(i * 999 ^ 3 for i in range(3))}\n")
done()
