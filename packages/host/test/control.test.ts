// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";

import { Hostd, HostClient } from "../src/index.ts";
import { hostdBinary } from "./build-programs.ts";
import { booted, eventually, mounted, sandboxProcesses, SLOT, withHost } from "./host-fixture.ts";

async function sendRaw(socketPath: string, bytes: string | Buffer): Promise<string> {
  const socket = connect(socketPath);
  socket.on("error", () => {}); // a reset while still sending is part of the test
  socket.write(bytes);
  return text(socket).catch(() => "reset");
}

describe("the control connection", () => {
  test.each([
    ["no JSON", "rubbish\n"],
    ["no object", "[1,2]\n"],
    ["no id", '{"op":"stat"}\n'],
    ["a name twice", '{"id":1,"id":2,"op":"stat"}\n'],
    ["no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d, 0x0a])],
    ["depth", `${"[".repeat(60_000)}\n`],
  ])("answers a line with %s by an error and hangs up", async (_, line) => {
    await withHost(async (host) => {
      expect(await sendRaw(host.hostd.socket, line)).toMatch(/^\{"id":0,"ok":false,"code":"bad_request".*\}\n$/);
      await host.hostd.client.stat(); // others are served on
    });
  });

  test("hangs up on a line of more than 64 KiB", async () => {
    await withHost(async (host) => {
      expect(await sendRaw(host.hostd.socket, "x".repeat(200_000))).toMatch(/^(reset)?$/);
      await host.hostd.client.stat();
    });
  });

  test("answers an unknown operation or field by an error and goes on", async () => {
    await withHost(async (host) => {
      const socket = connect(host.hostd.socket);
      const answers = createInterface({ input: socket })[Symbol.asyncIterator]();
      const ask = async (request: object) => {
        socket.write(`${JSON.stringify(request)}\n`);
        const { value } = await answers.next();
        return JSON.parse(value ?? "null");
      };
      const bad = { ok: false, code: "bad_request" };
      expect(await ask({ id: 1, op: "nope" })).toEqual({ ...bad, id: 1, error: 'there is no operation "nope"' });
      expect(await ask({ id: 2, op: 7 })).toEqual({ ...bad, id: 2, error: 'there is no operation ""' });
      expect(await ask({ id: 3, op: "umount" })).toEqual({ ...bad, id: 3, error: 'field "target" is missing' });
      const misspelt = { id: 4, op: "umount", target: "/x", detahc: true };
      expect(await ask(misspelt)).toEqual({ ...bad, id: 4, error: 'field "detahc" is not part of this operation' });
      const relative = { id: 5, op: "umount", target: "x" };
      expect(await ask(relative)).toEqual({ ...bad, id: 5, error: 'field "target" must be an absolute path' });
      expect(await ask({ id: 6, op: "stat" })).toMatchObject({ id: 6, ok: true, connections: 2 });
      socket.destroy();
    });
  });

  test("survives connections that are cut at any point", async () => {
    await withHost(async (host) => {
      const line = '{"id":1,"op":"stat"}\n{"id":2,"op":"dial","token":1,"pid":1,"start_time":1,"abstract":"x"}\n';
      for (let length = 0; length < line.length; length++) {
        const socket = connect(host.hostd.socket);
        socket.on("error", () => {});
        socket.write(line.slice(0, length), () => socket.destroy());
      }
      await eventually(async () => expect((await host.hostd.client.stat()).connections).toBe(1));
    });
  });

  test("serves several clients; keys of watches are unique among them", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      await using other = await HostClient.connect(host.hostd.socket);
      const watch = await host.hostd.client.watch("key", sandbox.process);
      await expect(other.watch("key", sandbox.process)).rejects.toMatchObject({ code: "conflict" });
      expect((await other.list()).watches).toEqual([{ key: "key", pid: sandbox.process.pid }]);
      await watch.stop();
      expect(await watch.ended).toBe("stopped");
      const again = await other.watch("key", sandbox.process);
      other.close();
      expect(await again.ended).toBe("lost");
    });
  });
});

describe("watch and kill", () => {
  test("refuse a process that has ended, and one whose pid was used again", async () => {
    await withHost(async ({ hostd: { client } }) => {
      await expect(client.watch("a", { pid: 2 ** 22 - 1, startTime: 1 })).rejects.toMatchObject({ code: "gone" });
      await expect(client.watch("a", { pid: process.pid, startTime: 1 })).rejects.toMatchObject({ code: "gone" });
      expect(await client.kill({ pid: process.pid, startTime: 1 })).toBe(false);
    });
  });
});

describe("net.setup", () => {
  test("sets up an existing sandbox's loopback and can be repeated", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      for (let round = 0; round < 2; round++) {
        await host.hostd.client.setUpNetwork(sandbox.process, ["10.0.0.2/32", "10.0.0.3/32"]);
        expect(await sandbox.ask("read /proc/net/fib_trie")).toMatch(/10\.0\.0\.2[\s\S]*10\.0\.0\.3/);
      }
      await expect(host.hostd.client.setUpNetwork(sandbox.process, ["10.0.0.300/32"])).rejects.toMatchObject({
        code: "bad_request",
      });
    });
  });
});

describe("the daemon", () => {
  test("ends with its standard input and removes its socket", async () => {
    await withHost(async (host) => {
      const socket = join(host.folder, "second.sock");
      const second = await Hostd.start({ binary: hostdBinary, socket });
      expect(existsSync(socket)).toBe(true);
      await second.stop();
      expect(await second.ended).toMatchObject({ code: 0 });
      expect(existsSync(socket)).toBe(false);
    });
  });

  test("a client that hangs up while boots are under way leaves only those that were answered", async () => {
    await withHost(async (host) => {
      await using root = await mounted(host);
      const other = await HostClient.connect(host.hostd.socket);
      const request = { slot: SLOT, root: root.path, argv: ["/.collimate/init"] };
      const boots = Array.from({ length: 30 }, () => other.boot(request));
      const settled = Promise.allSettled(boots);
      await Promise.race(boots);
      other.close();
      const answered = (await settled).flatMap((boot) => (boot.status === "fulfilled" ? [boot.value] : []));
      expect(answered.length).toBeGreaterThan(0);
      expect(answered.length).toBeLessThan(30);
      await eventually(async () => expect((await host.hostd.client.stat()).workers).toBe(0));
      // Answers that were on their way when the client hung up cannot be told from read ones: a few may live.
      expect(sandboxProcesses()).toEqual(expect.arrayContaining(answered.map(({ pid }) => pid)));
      for (const pid of sandboxProcesses()) process.kill(pid, "SIGKILL");
    });
  });

  test("ended in the middle of a boot, leaves no half-made sandbox", async () => {
    await withHost(async (host) => {
      await using root = await mounted(host);
      const second = await Hostd.start({
        binary: hostdBinary,
        socket: join(host.folder, "second.sock"),
        launcher: ["nsenter", "-t", `${host.hostd.pid}`, "-m"],
      });
      await second.client.createUserns(SLOT, 0x10000 * 40_000);
      const boots = Array.from({ length: 20 }, () => second.client.boot({ slot: SLOT, root: root.path, argv: ["/.collimate/init"] }));
      const settled = Promise.allSettled(boots);
      second.client.close(); // a client that is gone: answer or kill
      expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
      await second.stop();
      // An answer that was on its way when the client hung up cannot be told from a read one: such a sandbox is whole.
      const whole = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("/.collimate/init");
      await eventually(() => expect(sandboxProcesses().filter((pid) => !whole(pid))).toEqual([]));
      expect(sandboxProcesses().length).toBeLessThan(boots.length);
      for (const pid of sandboxProcesses()) process.kill(pid, "SIGKILL");
      await eventually(() => expect(sandboxProcesses()).toEqual([]));
    });
  });

  test("takes the place of a daemon that was killed, not of one that lives", async () => {
    await withHost(async (host) => {
      const socket = join(host.folder, "second.sock");
      const killed = await Hostd.start({ binary: hostdBinary, socket });
      process.kill(killed.pid, "SIGKILL");
      await killed.ended;
      expect(existsSync(socket)).toBe(true);
      await using second = await Hostd.start({ binary: hostdBinary, socket });
      await expect(Hostd.start({ binary: hostdBinary, socket })).rejects.toThrow(/Address already in use/);
      expect(await second.client.stat()).toMatchObject({ pid: second.pid });
    });
  });

  test("killed, leaves the streams that it has made, and its client sees the end", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const second = await Hostd.start({ binary: hostdBinary, socket: join(host.folder, "second.sock") });
      const stream = await second.dial(sandbox.process, { abstract: "test-init" });
      process.kill(second.pid, "SIGKILL");
      expect((await second.client.closed)?.code).toBe("lost");
      stream.end("echo\nstill here");
      expect(await text(stream)).toBe("still hereend of input\n");
    });
  });

  test("says why it cannot start", async () => {
    await withHost(async (host) => {
      const taken = Hostd.start({ binary: hostdBinary, socket: host.hostd.socket });
      await expect(taken).rejects.toThrow(/Address already in use/);
      const long = Hostd.start({ binary: hostdBinary, socket: `/tmp/${"x".repeat(200)}` });
      await expect(long).rejects.toThrow(/File name too long/);
      await expect(Hostd.start({ binary: "/no/such/program", socket: "/tmp/x" })).rejects.toThrow(/ENOENT/);
    });
  });
});
