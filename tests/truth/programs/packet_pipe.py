# SPDX-License-Identifier: Apache-2.0
"""A pipe in packet mode, which no checkpoint can take."""

import os

from truth import checkpoint, done, equal

read, write = os.pipe2(os.O_DIRECT)
os.write(write, b"one")
os.write(write, b"second")

checkpoint()

equal((os.read(read, 100), os.read(read, 100)), (b"one", b"second"))
done()
