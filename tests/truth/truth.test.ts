// SPDX-License-Identifier: Apache-2.0
import { describe, test } from "vitest";
import { expectTrue } from "./scenario.ts";

describe("in every child, in a child of a child and in the parent", () => {
  test("threads hold their locks and waiters wait on", () => expectTrue({ program: "threads.py" }));
  test("a process tree keeps its groups, sessions, zombies, daemons and stopped processes", () => expectTrue({ program: "process_tree.py" }));
  test("pipes, FIFOs, socket pairs and unix sockets keep what was in flight", () => expectTrue({ program: "pipes.py" }));
  test("TCP connections within the sandbox live on, on loopback and on its own address", () => expectTrue({ program: "tcp.py" }));
  test("epoll, eventfd, timerfd, signalfd and pidfd go on", () => expectTrue({ program: "events.py" }));
  test("inotify goes on watching", () => expectTrue({ program: "inotify.py" }));
  test("open files, locks, mappings and shared memory are of one instant", () => expectTrue({ program: "files.py" }));
});
