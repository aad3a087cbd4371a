// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { Sandbox } from "./engine/sandbox.ts";
import { expectTrue, startProgram, verdictOf } from "./scenario.ts";

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
  test("limits, niceness, capabilities, filters, clocks and timers are kept", () => expectTrue({ program: "process_state.py" }));
});

describe("what cannot be captured", () => {
  test("is refused by name, and the parent goes on untouched", async () => {
    await using parent = await Sandbox.create();
    await startProgram(parent, { program: "packet_pipe.py" });
    await expect(parent.fork(1)).rejects.toThrow(/packetized mode for pipes/);
    expect(await verdictOf(parent, "parent")).toBe("parent: ok");
  });
});
