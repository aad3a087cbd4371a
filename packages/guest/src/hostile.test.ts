// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { often } from "@collimate/testing/full";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestSandbox } from "../testing/sandbox.ts";
import { FrameReader, encodeFrame } from "./frame.ts";
import { FRAME_PAYLOAD_MAX, Frame, Tag } from "./protocol.ts";
import { pingFields } from "./request.ts";
import { FieldWriter, Fields } from "./tlv.ts";

const LIMIT_MS = often(30_000, 300_000);

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await TestSandbox.start({ harden: true });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

/** Sends bytes as they are and collects what comes back until the end. */
async function speak(bytes: Uint8Array): Promise<Buffer> {
  const socket = await sandbox.dial();
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.end(bytes);
  if (!socket.closed) await once(socket, "close");
  return Buffer.concat(chunks);
}

function failureIn(bytes: Buffer): string | undefined {
  const frames = [...new FrameReader().push(bytes)];
  expect(frames[0]?.type).toBe(Frame.hello);
  const failure = frames.find((frame) => frame.type === Frame.failure);
  return failure && new Fields(failure.payload).text(Tag.failureCode);
}

describe("what a client may send", () => {
  test(
    "arbitrary bytes never end init",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => void (await speak(bytes))),
        { numRuns: often(150, 3_000) },
      );
      expect((await sandbox.guest.ping()).protocolVersion).toBe(1);
    },
    LIMIT_MS,
  );

  test(
    "arbitrary fields in a well-formed request never end init",
    async () => {
      const field = fc.tuple(fc.constantFrom(...Object.values(Tag), 21, 200), fc.uint8Array({ maxLength: 40 }));
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(3, 4, 5, 6, 8, 9), fc.array(field, { maxLength: 12 }), async (operation, fields) => {
          const writer = new FieldWriter().u32(Tag.version, 1).u8(Tag.operation, operation);
          for (const [tag, value] of fields) if (tag !== Tag.operation && tag !== Tag.path) writer.bytes(tag, value);
          await speak(encodeFrame(Frame.request, writer.finish()));
        }),
        { numRuns: often(150, 3_000) },
      );
      expect((await sandbox.guest.ping()).protocolVersion).toBe(1);
    },
    LIMIT_MS,
  );

  test.each([
    ["a frame that is too long", Buffer.from([Frame.request, 1, 0, 4, 0]), "bad_request"],
    ["another first frame", encodeFrame(Frame.stdin, Buffer.from("x")), "bad_request"],
    ["no version", encodeFrame(Frame.request, new FieldWriter().u8(Tag.operation, 8).finish()), "bad_request"],
    ["another version", encodeFrame(Frame.request, new FieldWriter().u32(Tag.version, 2).u8(Tag.operation, 8).finish()), "bad_request"],
    [
      "a wish that is not known",
      encodeFrame(Frame.request, Buffer.concat([pingFields(), new FieldWriter().u8(21, 1).finish()])),
      "bad_request",
    ],
    [
      "a NUL in a text",
      encodeFrame(Frame.request, new FieldWriter().u32(Tag.version, 1).u8(Tag.operation, 1).text(Tag.shell, "a\0b").finish()),
      "bad_request",
    ],
  ])("%s is refused in words", async (_, bytes, code) => {
    expect(failureIn(await speak(bytes))).toBe(code);
  });

  test("a request over 33 MiB is refused while it is on its way", async () => {
    const part = encodeFrame(Frame.requestPart, Buffer.alloc(FRAME_PAYLOAD_MAX));
    expect(failureIn(await speak(Buffer.concat(Array.from({ length: 140 }, () => part))))).toBe("too_large");
  });

  test("a client that says nothing holds up nobody", async () => {
    const silent = await Promise.all(Array.from({ length: 20 }, () => sandbox.dial()));
    expect(await sandbox.sh("echo served")).toBe("served\n");
    for (const socket of silent) socket.destroy();
  });
});

describe("what the guest may send", () => {
  test("any cut of any bytes is frames or a protocol error", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        const reader = new FrameReader();
        try {
          for (const chunk of chunks) for (const frame of reader.push(Buffer.from(chunk))) new Fields(frame.payload);
        } catch (error) {
          expect(error).toMatchObject({ code: "protocol" });
        }
      }),
      { numRuns: often(100, 2_000) },
    );
  });

  test("frames survive any cut", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(255), fc.uint8Array({ maxLength: 50 }))), fc.integer({ min: 1, max: 20 }), (frames, size) => {
        const bytes = Buffer.concat(frames.map(([type, payload]) => encodeFrame(type, payload)));
        const reader = new FrameReader();
        const got: [number, number[]][] = [];
        for (let at = 0; at < bytes.length; at += size) {
          for (const frame of reader.push(bytes.subarray(at, at + size))) got.push([frame.type, [...frame.payload]]);
        }
        expect(got).toEqual(frames.map(([type, payload]) => [type, [...payload]]));
      }),
      { numRuns: often(100, 2_000) },
    );
  });
});

test("a process inside the sandbox is not listened to", async () => {
  const code = ["import socket", "s = socket.socket(socket.AF_UNIX); s.connect('\\0collimate-init')", "print(s.recv(100))"].join("\n");
  expect(await sandbox.py(code)).toBe("b''\n");
});

describe("a hardened sandbox", () => {
  const syscall = (call: string): Promise<string> =>
    sandbox.py(
      `import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.${call}\nprint(r if r >= 0 else __import__('errno').errorcode[ctypes.get_errno()])`,
    );

  test.each([
    ["syscall(425, 8, 0)", "ENOSYS"], // io_uring_setup
    ["syscall(435, 0, 0)", "ENOSYS"], // clone3
    ["syscall(323, 0)", "EPERM"], // userfaultfd
    ["syscall(321, 0, 0, 0)", "EPERM"], // bpf
    ["syscall(250, 0, 0)", "EPERM"], // keyctl
    ["unshare(0x10000000)", "EPERM"], // new user namespace
    ["unshare(0x00020000)", "EPERM"], // new mount namespace: no capability
    ["mount(b'none', b'/tmp', b'tmpfs', 0, None)", "EPERM"],
    ["sethostname(b'x', 1)", "EPERM"],
    ["personality(0x0040000)", "0"],
    ["personality(0x0400000)", "EPERM"],
    ["socket(40, 1, 0)", "EAFNOSUPPORT"], // vsock
    ["ptrace(16, 1, 0, 0)", "EPERM"], // PTRACE_ATTACH to init
  ])("%s gives %s", async (call, outcome) => {
    expect(await syscall(call)).toBe(`${outcome}\n`);
  });

  test("has few capabilities and cannot gain any", async () => {
    const status = await sandbox.sh("grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status");
    expect(status.replaceAll("\t", " ")).toBe(
      "CapPrm: 00000000a00405fb\nCapEff: 00000000a00405fb\nCapBnd: 00000000a00405fb\nNoNewPrivs: 1\nSeccomp: 2\n",
    );
  });

  test("runs commands, cells, threads and identity as before", async () => {
    expect(await sandbox.sh("echo $(id -u)")).toBe("0\n");
    expect(await sandbox.py("import threading\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()")).toBe(
      "thread\n",
    );
    const identity = { hostname: "hard", sandboxId: "sb", generation: 1, entropy: Buffer.alloc(32) };
    expect(await sandbox.guest.identity(identity)).toEqual({ hostnameSet: true });
  });
});

const pids = "/sys/fs/cgroup/pids";
test.skipIf(!existsSync(`${pids}/tasks`))(
  "a sandbox that has used up its processes says so, and serves again once there is room",
  async () => {
    const group = `${pids}/guest-test-${process.pid}`;
    await mkdir(group);
    try {
      await using full = await TestSandbox.start();
      await writeFile(`${group}/cgroup.procs`, String(full.pid));
      await writeFile(`${group}/pids.max`, "1");
      await expect(full.guest.exec({ shell: "true" })).rejects.toMatchObject({ code: "spawn_failed" });
      await writeFile(`${group}/pids.max`, "2"); // a handler, but no command
      await expect(full.guest.exec({ shell: "true" })).rejects.toMatchObject({ code: "spawn_failed" });
      await writeFile(`${group}/pids.max`, "max");
      expect(await full.sh("echo room")).toBe("room\n");
    } finally {
      await rmdir(group);
    }
  },
);
