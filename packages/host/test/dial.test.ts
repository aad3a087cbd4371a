// SPDX-License-Identifier: Apache-2.0
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";

import { dial } from "../src/index.ts";
import { ask, booted, childrenOf, eventually, withHost, type TestHost } from "./host-fixture.ts";

/** Unlike `text`, leaves the stream open for writing. */
async function untilEnd(stream: Socket): Promise<string> {
  let read = "";
  stream.on("data", (chunk: Buffer) => (read += chunk.toString()));
  await once(stream, "end");
  return read;
}

/** The one child that the daemon has got since. */
function relayBesides(host: TestHost, others: ReadonlySet<number>): Promise<number> {
  return eventually(() => {
    const fresh = childrenOf(host.hostd.pid).filter((pid) => !others.has(pid));
    expect(fresh).toHaveLength(1);
    return fresh[0] ?? 0;
  });
}

describe("dial", () => {
  test("reaches an abstract socket in the sandbox's network namespace, from outside its pid namespace", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await sandbox.ask("peer")).toBe("0\n"); // SO_PEERCRED: no pid that exists inside
    });
  });

  test("reaches a TCP port inside, not the host's", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const outside = createServer((socket) => socket.end("the host's\n"));
      outside.listen(0, "127.0.0.1");
      await once(outside, "listening");
      const address = outside.address();
      const port = typeof address === "object" && address ? address.port : 0;
      expect(await ask(await sandbox.dial({ tcp: 7007 }), "stat /etc/motd")).toBe("0 0 644\n");
      await expect(sandbox.dial({ tcp: port })).rejects.toMatchObject({ code: "system", errno: "ECONNREFUSED" });
      outside.close();
    });
  });

  test("carries 32 MiB each way unchanged, and the half-close behind it", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const stream = await sandbox.dial();
      const sent = randomBytes(32 << 20);
      stream.write("echo\n");
      stream.end(sent);
      const received = await buffer(stream);
      const tail = Buffer.from("end of input\n"); // written after the end of our half was seen
      expect(received.subarray(-tail.length).equals(tail)).toBe(true);
      const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
      expect(hash(received.subarray(0, -tail.length))).toBe(hash(sent));
    });
  });

  test("passes on a half-close from inside while the other half goes on", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const stream = await sandbox.dial();
      stream.write("close-then-drain\n");
      expect(await untilEnd(stream)).toBe("closing\n");
      stream.end(Buffer.alloc(5_000_000));
      await once(stream, "close");
      await eventually(async () => expect(await sandbox.ask("read /drained")).toBe("5000000"));
    });
  });

  test("delivers all output to a client that reads late, also when the sandbox's side is gone by then", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const stream = await sandbox.dial();
      stream.write("read /dev/urandom\n");
      const watch = await host.hostd.client.watch("late", sandbox.process);
      await once(stream, "readable");
      await host.hostd.client.kill(sandbox.process);
      expect(await watch.ended).toBe("exited");
      expect((await buffer(stream)).length).toBeGreaterThan(0);
    });
  });

  test("a stream that has ended leaves nothing connected inside", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const connected = async () => {
        const table = readFileSync(`/proc/${sandbox.process.pid}/net/unix`, "utf8");
        return table.split("\n").filter((line) => line.includes("@test-init") && line.split(" ")[5] === "03").length;
      };
      const stream = await sandbox.dial();
      stream.write("echo\n");
      await eventually(async () => expect(await connected()).toBeGreaterThanOrEqual(2)); // and the fixture's own
      const before = await connected();
      stream.end();
      await text(stream);
      await once(stream, "close");
      expect(await connected()).toBeLessThan(before);
    });
  });

  test("a client that goes away takes its relay along, even when the sandbox neither reads nor writes", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const others = new Set(childrenOf(host.hostd.pid));
      const stream = await sandbox.dial();
      stream.on("error", () => {});
      const relay = await relayBesides(host, others);
      stream.write("stuck\n");
      stream.write(Buffer.alloc(8 << 20)); // more than all buffers on the way
      stream.destroy();
      await eventually(() => expect(childrenOf(host.hostd.pid)).not.toContain(relay));
    });
  });

  test("an idle stream costs no CPU, also when half of it is closed", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const others = new Set(childrenOf(host.hostd.pid));
      const stream = await sandbox.dial();
      stream.end("stuck\n"); // our half is over, the sandbox's half says nothing
      const relay = await relayBesides(host, others);
      const cpuNanoseconds = () => readFileSync(`/proc/${relay}/schedstat`, "utf8").split(" ")[0];
      await eventually(async () => {
        const before = cpuNanoseconds();
        for (let round = 0; round < 50; round++) await host.hostd.client.stat();
        expect(cpuNanoseconds()).toBe(before);
      });
      stream.destroy();
    });
  });

  test("200 at once all get their own answer", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const words = Array.from({ length: 200 }, () => randomBytes(8).toString("hex"));
      const echo = async (word: string) => {
        const stream = await sandbox.dial();
        stream.end(`echo\n${word}`);
        return text(stream);
      };
      const started = performance.now();
      const answers = await Promise.all(words.map(echo));
      console.log(`200 dials with an echo each: ${(performance.now() - started).toFixed(0)} ms`);
      expect(answers).toEqual(words.map((word) => `${word}end of input\n`));
    });
  });

  test("what is sent along with the request is not lost", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const socket = connect(host.hostd.socket);
      const { pid, startTime } = sandbox.process;
      const line = JSON.stringify({ dial: { pid, start_time: startTime, abstract: "test-init" } });
      socket.end(`${line}\necho\nearly`);
      expect(await text(socket)).toBe(`{"ok":true}\nearlyend of input\n`);
    });
  });

  test.each([
    ["an ended process", { pid: 2 ** 22 - 1, startTime: 5 }, "gone", /has ended/],
    ["a pid that was used again", { pid: process.pid, startTime: 5 }, "gone", /its pid was used again/],
  ])("refuses %s", async (_, target, code, message) => {
    await withHost(async (host) => {
      const attempt = dial(host.hostd.socket, target, { abstract: "test-init" });
      await expect(attempt).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    });
  });

  test("says when nobody listens", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const attempt = sandbox.dial({ abstract: "nobody" });
      await expect(attempt).rejects.toMatchObject({ code: "system", errno: "ECONNREFUSED" });
    });
  });

  test("can be given up", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const given = dial(host.hostd.socket, sandbox.process, { abstract: "test-init" }, { signal: AbortSignal.abort() });
      await expect(given).rejects.toMatchObject({ code: "deadline" });
    });
  });

  test.each([
    ['{"dial":7}', /must be an object/],
    ['{"dial":{"pid":1,"abstract":"x"}}', /\\"start_time\\" is missing/],
    ['{"dial":{"pid":1,"start_time":1,"abstract":"x","extra":1}}', /\\"extra\\" is not part/],
    ['{"dial":{"pid":1,"start_time":1,"tcp":70000}}', /\\"tcp\\" must be a whole number/],
    ['{"dial":{"pid":1,"start_time":1,"tcp":80,"host":"localhost"}}', /numeric address/],
  ])("refuses the malformed request %s", async (line, message) => {
    await withHost(async (host) => {
      const socket = connect(host.hostd.socket);
      socket.write(`${line}\n`);
      expect(await text(socket)).toMatch(message);
    });
  });
});
