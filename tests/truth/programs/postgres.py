# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL in the middle of a transaction: committed everywhere by each for itself, and sound after a crash."""

import os
import shutil
import subprocess

from truth import checkpoint, done, equal

PROGRAMS = "/usr/lib/postgresql/15/bin/"
DATA = "/var/lib/postgresql/truth"
DIRECT = {"user": "postgres", "group": "postgres", "cwd": "/", "env": {"PATH": PROGRAMS + ":/usr/bin:/bin", "LANG": "C.UTF-8"}}


def control(*words: str) -> None:
    subprocess.run([PROGRAMS + "pg_ctl", "-D", DATA, "-w", "-l", DATA + "/log", *words], check=True, stdout=subprocess.DEVNULL, **DIRECT)


def ask(sql: str) -> str:
    return subprocess.run(
        ["psql", "-h", "127.0.0.1", "-Atc", sql, "postgres"], check=True, capture_output=True, text=True, **DIRECT
    ).stdout.strip()


os.makedirs("/var/lib/postgresql", exist_ok=True)
shutil.chown("/var/lib/postgresql", "postgres", "postgres")
subprocess.run([PROGRAMS + "initdb", "-D", DATA, "-A", "trust", "--no-sync"], check=True, stdout=subprocess.DEVNULL, **DIRECT)
control("-o", f"-k {DATA} -c shared_buffers=16MB", "start")
ask("create table numbers as select generate_series(1, 20000) as n")
session = subprocess.Popen(
    ["psql", "-h", "127.0.0.1", "-Atq", "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **DIRECT
)


def tell(sql: str) -> str:
    session.stdin.write(sql + "\n")
    session.stdin.flush()
    return session.stdout.readline().strip()


equal(tell("begin; insert into numbers values (-1); select count(*) from numbers;"), "20001")

me = checkpoint()

equal(ask("select count(*) from numbers"), "20000")
equal(tell(f"insert into numbers values (-2); commit; select '{me}';"), me)
equal(ask("select count(*), min(n) from numbers"), "20002|-2")
control("-m", "immediate", "stop")
control("-o", f"-k {DATA}", "start")
equal(ask("select count(*), min(n) from numbers"), "20002|-2")
control("-m", "fast", "stop")
session.stdin.close()
session.wait(10)
done()
