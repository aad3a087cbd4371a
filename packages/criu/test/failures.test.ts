// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CriuError, type Holder } from "../src/index.ts";
import { childrenOf, isAlive, waitFor } from "./processes.ts";
import { command, type Sandbox, type Snapshot, World } from "./world.ts";

let world: World;
let parent: Sandbox;
let snapshot: Snapshot;
let holder: Holder;
beforeAll(async () => {
  world = await World.create();
  parent = await world.sandbox();
  snapshot = await world.snapshot(parent);
  holder = await world.hold(snapshot);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** All that a restore makes is the holder's child or grandchild: it is a subreaper. */
async function expectNothingLeft(of: Holder = holder): Promise<void> {
  await waitFor("the holder to have no children", () => childrenOf(of.pid).length === 0);
  expect((await of.stat()).inFlight).toBe(0);
}

async function errorOf(promise: Promise<unknown>): Promise<CriuError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CriuError);
  return error as CriuError;
}

/** Sends `text` as it is and collects all that comes back. */
async function raw(text: string, end = false): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = createConnection(holder.socket);
  socket.setEncoding("utf8");
  await once(socket, "connect");
  const answer = (async () => {
    let all = "";
    try {
      for await (const chunk of socket) all += chunk;
    } catch {
      // closed in our face, after the answer
    }
    return all;
  })();
  if (end) socket.end(text);
  else socket.write(text);
  return { socket, answer };
}

async function restoreRequest(extra: string): Promise<string> {
  const uid = world.uidBase();
  const { root } = await world.root(snapshot.layers, uid);
  return `verb=restore\nroot=${root}\nlog=${world.path(world.name("log"))}\nuid=${uid}\n${extra}\n`;
}

describe("a restore that fails", () => {
  test("because its root is missing says so and leaves no process", async () => {
    const error = await errorOf(holder.restore({ root: "/nonexistent", work: world.path(world.name("work")), uidBase: world.uidBase() }));
    expect(error.code).toBe("failed");
    expect(error.log.join("\n")).toMatch(/nable to mount/);
    await expectNothingLeft();
  });

  test("because a program is missing leaves no process", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    // A character device 0:0 in an overlay's upper layer hides the file below.
    await writeFile(`${root}/subject`, "another size");
    const error = await errorOf(holder.restore({ root, work: world.path(world.name("work")), uidBase }));
    expect(error.code).toBe("failed");
    expect(error.log.join("\n")).toMatch(/subject/);
    await expectNothingLeft();
  });

  test("because a cgroup is missing names it", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    const cgroups = ["/nonexistent/cgroup.procs"];
    const error = await errorOf(holder.restore({ root, work: world.path(world.name("work")), uidBase, cgroups }));
    expect(error.message).toContain("/nonexistent/cgroup.procs: No such file or directory");
    await expectNothingLeft();
  });

  test("by its deadline, in the client's turn, leaves no process", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    let born = 0;
    const error = await errorOf(
      holder.restore({
        root,
        work: world.path(world.name("work")),
        uidBase,
        limitMs: 300,
        onNetworkNamespace: (pid) => {
          born = pid;
          return waitFor("the deadline to end the tree", () => !isAlive(pid));
        },
      }),
    );
    expect(error.code).toBe("timeout");
    expect(born).toBeGreaterThan(0);
    await expectNothingLeft();
  });

  test("because the client calls it off leaves no process", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    const work = world.path(world.name("work"));
    const onNetworkNamespace = () => Promise.reject(new Error("no interface to be had"));
    await expect(holder.restore({ root, work, uidBase, onNetworkNamespace })).rejects.toThrow("no interface to be had");
    await expectNothingLeft();
  });

  test("is aborted by a signal and leaves no process", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    const abort = new AbortController();
    const error = await errorOf(
      holder.restore({
        root,
        work: world.path(world.name("work")),
        uidBase,
        signal: abort.signal,
        onNetworkNamespace: () => {
          abort.abort();
          return Promise.resolve();
        },
      }),
    );
    expect(error.code).toBe("aborted");
    await expectNothingLeft();
  });
});

describe("a client that goes away", () => {
  test("right after its request gets no tree", async () => {
    const { socket } = await raw(await restoreRequest(""));
    socket.destroy();
    await waitFor("the restore to begin", () => childrenOf(holder.pid).length > 0);
    await expectNothingLeft();
  });

  test("after the answer, without taking it, gets no tree", async () => {
    const { socket } = await raw(await restoreRequest(""));
    const [answer] = (await once(socket, "data")) as [string];
    const { ok, pid } = JSON.parse(answer) as { ok: boolean; pid: number };
    expect(ok).toBe(true);
    expect(isAlive(pid)).toBe(true);
    socket.destroy();
    await waitFor("the tree to end", () => !isAlive(pid));
    await expectNothingLeft();
  });

  test("that neither takes the answer nor goes gets no tree after the deadline", async () => {
    const { answer } = await raw(await restoreRequest("deadline_ms=400\n"));
    expect(await answer).toContain('"ok":true');
    await expectNothingLeft();
  });
});

describe("a restoring process that is killed", () => {
  test("takes the half-made tree with it", async () => {
    const uidBase = world.uidBase();
    const { root } = await world.root(snapshot.layers, uidBase);
    let born = 0;
    const error = await errorOf(
      holder.restore({
        root,
        work: world.path(world.name("work")),
        uidBase,
        onNetworkNamespace: (pid) => {
          born = pid;
          for (const child of childrenOf(holder.pid)) process.kill(child, "SIGKILL");
          return Promise.resolve();
        },
      }),
    );
    expect(error.code).toBe("holder-gone");
    await waitFor("the tree to end", () => !isAlive(born));
    await expectNothingLeft();
  });
});

describe("a holder that is killed", () => {
  test("during restores lets them come to an end, one way or the other", async () => {
    const victim = await world.hold(snapshot, { table: world.path("victim.tab") });
    const born: number[] = [];
    let release = () => {};
    const allBorn = new Promise<void>((resolve) => {
      release = resolve;
    });
    const results = await Promise.all(
      Array.from({ length: 4 }, () =>
        world.restore(victim, snapshot, {
          onNetworkNamespace: async (pid) => {
            if (born.push(pid) === 4) {
              process.kill(victim.pid, "SIGKILL");
              release();
            }
            await allBorn;
          },
        }),
      ),
    );
    for (const child of results) expect(await command(child, "check")).toBe("wrong 0");
    expect((await errorOf(victim.stat())).code).toBe("holder-gone");
    await victim.stop();
  });

  test("lets a derived holder live", async () => {
    const victim = await world.hold(snapshot, { table: world.path("victim2.tab") });
    const child = await world.restore(victim, snapshot);
    const second = await world.snapshot(child, {
      delta: { parentImages: snapshot.images, table: world.path("victim2.tab") },
    });
    const derived = await world.derive(victim, second);
    await victim.stop();
    expect(await command(await world.restore(derived, second), "check")).toBe("wrong 0");
    expect(await command(child, "check")).toBe("wrong 0");
  });
});

describe("a holder", () => {
  test.each([
    ["verb=restore\n\n", "restore needs root and log"],
    ["verb=dance\n\n", "unknown verb"],
    ["root=/x\n\n", "no verb"],
    ["verb=stat\ncolour=red\n\n", "unknown key"],
    ["verb=stat\nverb=stat\n\n", "a key stands twice"],
    ["verb=restore\nroot=relative\nlog=/x\n\n", "a path must be absolute"],
    ["verb=restore\nroot=/x\nlog=/x\nuid=0\n\n", "uid is not a usable first id"],
    ["verb=restore\nroot=/x\nlog=/x\nuid=4294967295\n\n", "uid is not a usable first id"],
    ["verb=restore\nroot=/x\nlog=/x\ndeadline_ms=1e3\n\n", "deadline_ms"],
    ["verb=stat\n\nverb=quit\n\n", "bytes behind the end"],
    ["stat\n\n", "a line is not key=value"],
    [`verb=restore\n${"addr=::1/128\n".repeat(17)}\n`, "too many addresses"],
    [`verb=stat\nlog=/${"x".repeat(20_000)}`, "too long"],
    ["verb=stat\0\n\n", "bytes behind the end"],
  ])("refuses request %# and serves on", async (text, error) => {
    const { answer } = await raw(text);
    const reply = JSON.parse(await answer) as { ok: boolean; error: string };
    expect(reply.ok).toBe(false);
    expect(reply.error).toContain(error);
    expect((await holder.stat()).generation).toBe(0);
  });

  test("is not held up by clients that never end their requests", async () => {
    const slow = await Promise.all(Array.from({ length: 20 }, () => raw("verb=sta")));
    expect((await holder.stat()).pid).toBe(holder.pid);
    for (const { socket } of slow) socket.destroy();
  });

  test("that can't be loaded says why", async () => {
    const error = await errorOf(world.hold({ ...snapshot, images: world.directory }));
    expect(error.code).toBe("failed");
    expect(error.log.join("\n")).toMatch(/no process tree/);
  });

  test("of damaged images does not start", async () => {
    const copy = world.path("damaged");
    await cp(snapshot.images, copy, { recursive: true });
    writeFileSync(`${copy}/pagemap-2.img`, Buffer.alloc(100, 0xff));
    const error = await errorOf(world.hold({ ...snapshot, images: copy }));
    expect(error.code).toBe("failed");
  });

  test("does not give its own oom_score_adj to copies", async () => {
    const marked = await world.hold(snapshot, { oomScoreAdj: 200, table: world.path("marked.tab") });
    const score = async (pid: number) => Number(await readFile(`/proc/${pid}/oom_score_adj`, "utf8"));
    const [plain, chosen] = [await world.restore(marked, snapshot), await world.restore(marked, snapshot, { oomScoreAdj: 500 })];
    expect([await score(marked.pid), await score(plain.pid), await score(chosen.pid)]).toEqual([200, 0, 500]);
  });
});
