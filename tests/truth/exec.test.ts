// SPDX-License-Identifier: Apache-2.0
/** What runs in a sandbox by an exec of the platform itself, at the moment of a fork. */
import { expect, test } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";

const AWAIT_FILE = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`;

test("an exec that still runs goes on in its own session, in the children too, and the parent's answers", async () => {
  await using parent = await Sandbox.create();
  const running = parent.exec({
    command: `echo $$ > /tmp/pid; ${AWAIT_FILE("/tmp/go")}; cat /tmp/go; ps -o pid=,pgid=,sid= -p $$ > /tmp/ids.new; mv /tmp/ids.new /tmp/ids`,
  });
  await parent.shell(AWAIT_FILE("/tmp/pid"));
  const children = await parent.fork(8);
  const ids = await Promise.all(
    children.map((child) =>
      child.shell(`echo child > /tmp/go.new; mv /tmp/go.new /tmp/go; ${AWAIT_FILE("/tmp/ids")}; cat /tmp/ids /tmp/pid`),
    ),
  );
  for (const text of ids) {
    const [pid, group, session, noted] = text.trim().split(/\s+/);
    expect([group, session, noted]).toEqual([pid, pid, pid]);
  }
  await parent.shell("echo parent > /tmp/go.new; mv /tmp/go.new /tmp/go");
  expect(await running).toMatchObject({ exitCode: 0, stdout: "parent\n" });
});

test("a timed-out exec leaves nothing, and its sandbox forks", async () => {
  await using parent = await Sandbox.create();
  const late = await parent.exec({ command: "setsid sleep 4321 & sleep 4321", timeout_seconds: 0.3 });
  expect(late.exitCode).toBe(-1);
  const children = await parent.fork(8);
  const left = await Promise.all([parent, ...children].map((sandbox) => sandbox.shell("ps -eo args= | grep -c '^sleep 4321' || true")));
  expect(left).toEqual(left.map(() => "0\n"));
});

test("a background job of a finished exec lives on in every child", async () => {
  await using parent = await Sandbox.create();
  await parent.shell(
    `(${AWAIT_FILE("/tmp/go")}; echo done > /tmp/done.new; mv /tmp/done.new /tmp/done) >/dev/null 2>&1 & nohup setsid sleep 9876 >/dev/null 2>&1 &`,
  );
  const children = await parent.fork(8);
  const answers = await Promise.all(
    [parent, ...children].map((sandbox) =>
      sandbox.shell(`pgrep -cf '^sleep 9876'; touch /tmp/go; ${AWAIT_FILE("/tmp/done")}; cat /tmp/done`),
    ),
  );
  expect(answers).toEqual(answers.map(() => "1\ndone\n"));
});

test("the interpreter keeps its variables, open files and threads", async () => {
  await using parent = await Sandbox.create();
  await parent.exec({
    code: "import threading, queue\nq = queue.Queue()\nr = []\nt = threading.Thread(target=lambda: r.append(q.get()))\nt.start()\nf = open('/tmp/f', 'w+')\nf.write('kept')\nx = 41",
  });
  const children = await parent.fork(8);
  const code = "q.put(x + 1)\nt.join(5)\nf.seek(0)\nprint(r, f.read())";
  const answers = await Promise.all([...children, parent].map((sandbox) => sandbox.exec({ code })));
  expect(answers.map(({ stdout }) => stdout)).toEqual(answers.map(() => "[42] kept\n"));
});

test("a listener has the same port in every child, and each child answers for itself", async () => {
  await using parent = await Sandbox.create();
  await parent.shell(
    "mkdir -p /tmp/www && cd /tmp/www && (python3 -m http.server 8000 >/dev/null 2>&1 &) ; until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8000))' 2>/dev/null; do sleep 0.05; done",
  );
  const children = await parent.fork(8);
  const all = [parent, ...children];
  const get = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://10.0.0.2:8000/me\").read().decode())'";
  const answers = await Promise.all(all.map((sandbox, index) => sandbox.shell(`echo -n ${index} > /tmp/www/me && ${get}`)));
  expect(answers).toEqual(all.map((_, index) => `${index}\n`));
});
