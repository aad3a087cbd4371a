// SPDX-License-Identifier: Apache-2.0
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";

import { ask, booted, childrenOf, eventually, withHost } from "./host-fixture.ts";

/** Unlike `text`, leaves the stream open for writing. */
async function untilEnd(stream: Socket): Promise<string> {
  let read = "";
  stream.on("data", (chunk: Buffer) => (read += chunk.toString()));
  await once(stream, "end");
  return read;
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

  test("nobody stands between the two ends", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const before = childrenOf(host.hostd.pid);
      const stream = await sandbox.dial();
      expect(childrenOf(host.hostd.pid)).toEqual(before);
      const sockets = readdirSync(`/proc/${host.hostd.pid}/fd`).length;
      stream.destroy();
      await once(stream, "close");
      expect(readdirSync(`/proc/${host.hostd.pid}/fd`)).toHaveLength(sockets);
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

  test.each([
    ["an ended process", { pid: 2 ** 22 - 1, startTime: 5 }, "gone", /has ended/],
    ["a pid that was used again", { pid: process.pid, startTime: 5 }, "gone", /its pid was used again/],
  ])("refuses %s", async (_, target, code, message) => {
    await withHost(async (host) => {
      const attempt = host.hostd.dial(target, { abstract: "test-init" });
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
      const given = host.hostd.dial(sandbox.process, { abstract: "test-init" }, { signal: AbortSignal.abort() });
      await expect(given).rejects.toMatchObject({ code: "deadline" });
    });
  });

  test("given up in the middle, leaves no connection inside", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      const connected = () =>
        readFileSync(`/proc/${sandbox.process.pid}/net/unix`, "utf8")
          .split("\n")
          .filter((line) => line.includes("@test-init") && line.split(" ")[5] === "03").length;
      const before = connected();
      const controller = new AbortController();
      const given = host.hostd.dial(sandbox.process, { abstract: "test-init" }, { signal: controller.signal });
      controller.abort();
      await expect(given).rejects.toMatchObject({ code: "deadline" });
      await host.hostd.client.stat();
      await eventually(() => expect(connected()).toBe(before));
    });
  });

  test("a listener that accepts nobody is waited for, and no longer than that", async () => {
    await withHost(async (host) => {
      await using sandbox = await booted(host);
      expect(await sandbox.ask("deaf")).toBe("listening\n"); // at @deaf, with a queue for one
      const streams = await Promise.allSettled(Array.from({ length: 4 }, () => sandbox.dial({ abstract: "deaf" })));
      for (const one of streams) if (one.status === "fulfilled") one.value.destroy();
      const refused = streams.filter((one) => one.status === "rejected");
      expect(refused.length).toBeGreaterThan(0);
      for (const one of refused) expect(one.reason).toMatchObject({ code: "deadline", errno: "ETIMEDOUT" });
    });
  });

  test.each([
    [{ abstract: "x" }, /"start_time" is missing/],
    [{ start_time: 1, abstract: "x", extra: 1 }, /"extra" is not part/],
    [{ start_time: 1, tcp: 70000 }, /"tcp" must be a whole number/],
    [{ start_time: 1, tcp: 80, host: "localhost" }, /numeric address/],
  ])("refuses the malformed request %j", async (fields, message) => {
    await withHost(async (host) => {
      const socket = connect(host.hostd.socket);
      socket.end(`${JSON.stringify({ id: 1, op: "dial", token: 1, pid: process.pid, ...fields })}\n`);
      expect(JSON.parse(await text(socket))).toMatchObject({
        id: 1,
        ok: false,
        code: "bad_request",
        error: expect.stringMatching(message),
      });
    });
  });
});
