// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestSandbox } from "../testing/sandbox.ts";

let sandbox: TestSandbox;
let folder: string;
beforeAll(async () => {
  sandbox = await TestSandbox.start();
  folder = (await sandbox.sh("mktemp -d")).trim();
});
afterAll(async () => {
  await sandbox.sh(`rm -rf '${folder}'`);
  await sandbox[Symbol.asyncDispose]();
});

const read = async (path: string): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  await using file = await sandbox.guest.get(path);
  for await (const chunk of file.content) chunks.push(chunk);
  return Buffer.concat(chunks);
};

test("a file arrives and comes back byte for byte, with its mode and its parents made", async () => {
  const bytes = randomBytes(11 * 1024 * 1024 + 3);
  const path = `${folder}/a b/ü/file`;
  expect(await sandbox.guest.put(path, bytes, 0o750)).toBe(bytes.length);
  expect(await sandbox.sh(`stat -c '%a %s' '${path}'; ls -A '${folder}/a b/ü'`)).toBe(`750 ${bytes.length}\nfile\n`);
  expect((await read(path)).equals(bytes)).toBe(true);
  await using file = await sandbox.guest.get(path);
  expect([file.size, file.mode]).toEqual([bytes.length, 0o750]);
});

test("an empty file and a streamed one", async () => {
  await sandbox.guest.put(`${folder}/empty`, new Uint8Array(0));
  expect((await read(`${folder}/empty`)).length).toBe(0);
  async function* parts(): AsyncGenerator<Buffer> {
    for (let i = 0; i < 100; i++) yield Buffer.from(`${i}\n`);
  }
  await sandbox.guest.put(`${folder}/streamed`, parts());
  expect(await sandbox.sh(`wc -l < ${folder}/streamed; stat -c %a ${folder}/streamed`)).toBe("100\n644\n");
});

test("replacing keeps the old mode and owner, and goes through a link as a shell does", async () => {
  await sandbox.sh(`cd ${folder} && echo old > target && chmod 600 target && chown 12:34 target && ln -s target link`);
  await sandbox.guest.put(`${folder}/link`, Buffer.from("new"));
  expect(await sandbox.sh(`cd ${folder} && readlink link && stat -c '%a %u:%g' target && cat target`)).toBe("target\n600 12:34\nnew");
});

test("what cannot be done is said in words and leaves nothing behind", async () => {
  await sandbox.sh(`mkdir -p ${folder}/dir`);
  await expect(sandbox.guest.put(`${folder}/dir`, Buffer.from("x"))).rejects.toMatchObject({ code: "file_error" });
  await expect(sandbox.guest.put("/proc/nothing/x", Buffer.from("x"))).rejects.toThrow("/proc/nothing");
  await expect(sandbox.guest.put("/dev/null", Buffer.from("x"))).rejects.toMatchObject({ code: "file_error" });
  await expect(sandbox.guest.get(`${folder}/none`)).rejects.toMatchObject({ code: "not_found" });
  await expect(sandbox.guest.get(folder)).rejects.toThrow("directory");
  await expect(sandbox.guest.get("/dev/zero")).rejects.toMatchObject({ code: "file_error" });
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from("part");
    throw new Error("source failed");
  }
  await expect(sandbox.guest.put(`${folder}/dir/half`, broken())).rejects.toThrow("source failed");
  await sandbox.sh(`for i in 1 2 3 4 5 6 7 8 9; do test -z "$(ls -A ${folder}/dir)" && exit 0; sleep 0.1; done; exit 1`);
});

test("a large file that is refused is refused in words, not by a broken connection", async () => {
  await sandbox.sh(`mkdir -p ${folder}/taken`);
  const large = Buffer.alloc(64 * 1024 * 1024);
  await expect(sandbox.guest.put(`${folder}/taken`, large)).rejects.toMatchObject({
    code: "file_error",
    message: expect.stringContaining("directory"),
  });
  await expect(sandbox.guest.put("/proc/nothing/x", large)).rejects.toMatchObject({
    code: expect.stringMatching(/^(not_found|file_error)$/),
  });
});

test("a transfer that a checkpoint cannot wait for says so in words and leaves nothing", async () => {
  await sandbox.sh(`mkdir -p ${folder}/slow`);
  const begun = Promise.withResolvers<void>();
  const never = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(1024);
    begun.resolve();
    await never.promise;
    for (;;) yield Buffer.alloc(1024 * 1024);
  }
  const put = sandbox.guest.put(`${folder}/slow/file`, endless()).catch((error: unknown) => error);
  await begun.promise;
  const quiesced = sandbox.guest.quiesce(200);
  never.resolve();
  expect(await quiesced).toBe(0);
  expect(await put).toMatchObject({ code: "interrupted" });
  expect(await sandbox.sh(`ls -A ${folder}/slow`)).toBe("");
});

test("a file that was opened and not read lets go of its connection", async () => {
  const before = (await sandbox.guest.ping()).handlers;
  await (await sandbox.guest.get("/etc/passwd"))[Symbol.asyncDispose]();
  await expect.poll(async () => (await sandbox.guest.ping()).handlers, { timeout: 10_000 }).toBeLessThanOrEqual(before);
});

test("files of /proc, which claim to be empty, can be read", async () => {
  expect((await read("/proc/version")).toString()).toContain("Linux");
});
