// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";
import { expectTrue, readyWith, startProgram, verdictOf } from "./scenario.ts";

describe("in every child, in a child of a child and in the parent", () => {
  test("threads hold their locks and waiters wait on", () => expectTrue({ program: "threads.py" }));
  test("a process tree keeps its groups, sessions, zombies, daemons and stopped processes", () =>
    expectTrue({ program: "process_tree.py" }));
  test("pipes, FIFOs, socket pairs and unix sockets keep what was in flight", () => expectTrue({ program: "pipes.py" }));
  test("TCP connections within the sandbox live on, on loopback and on its own address", () => expectTrue({ program: "tcp.py" }));
  test("epoll, eventfd, timerfd, signalfd and pidfd go on", () => expectTrue({ program: "events.py" }));
  test("inotify goes on watching", () => expectTrue({ program: "inotify.py" }));
  test("open files, locks, mappings and shared memory are of one instant", () => expectTrue({ program: "files.py" }));
  test("System V shared memory, semaphores and queues are there", () => expectTrue({ program: "sysv_ipc.py" }));
  test("POSIX semaphores and process-shared locks keep their counts, owners and waiters", () => expectTrue({ program: "posix_ipc.c" }));
  test("limits, niceness, capabilities, filters and ids are kept", () => expectTrue({ program: "process_state.py" }));
  test("clocks do not jump back, and who sleeps or has set a timer wakes in time", () => expectTrue({ program: "sleepers.py" }));
  test("a sleep that nobody looks after ends neither early nor with an error", () => expectTrue({ program: "naps.c" }));
  test("terminals keep their settings, their data and the jobs of a shell", () => expectTrue({ program: "terminals.py" }));
});

test.each(["files.py", "process_tree.py", "events.py"])("a template has what its ready command has left running: %s", async (program) => {
  const ready = await readyWith({ program });
  const sandboxes = await Promise.all(["first", "second"].map(async (name) => [name, await Sandbox.create("truth", ready)] as const));
  await using all = new AsyncDisposableStack();
  for (const [, sandbox] of sandboxes) all.use(sandbox);
  const verdicts = await Promise.all(sandboxes.map(([name, sandbox]) => verdictOf(sandbox, name)));
  expect(verdicts).toEqual(["first: ok", "second: ok"]);
});

describe("what cannot be captured", () => {
  test.each([
    ["packet_pipe", /process \d+ \(python3\) holds a pipe in packet mode \(O_DIRECT\); make the pipe without O_DIRECT/],
    ["traced", /process \d+ \(python3\) holds a debugger or tracer on it; end or detach the debugger/],
    ["headless", /holds threads that outlived its main thread; have the main thread wait/],
  ])("is refused by process, resource and remedy, and the parent goes on untouched: %s", async (kind, message) => {
    await using parent = await Sandbox.create();
    await startProgram(parent, { program: "refused.py", args: kind });
    await expect(parent.fork(8)).rejects.toThrow(message);
    expect(await verdictOf(parent, "parent")).toBe("parent: ok");
  });

  test("is not there for programs where they can do without it: io_uring, message queues, multipath TCP", () =>
    expectTrue({ program: "denied.py" }));
});
