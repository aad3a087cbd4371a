// SPDX-License-Identifier: Apache-2.0
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import type { ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiForFile, sandboxOf } from "../../tests/api-under-test.ts";
import type { Ask } from "../../tests/api-under-test.ts";

const t = apiForFile();
let ask: Ask;
let apiKey: string;
let sandbox: string;
let folder: string;
beforeAll(async () => {
  ({ ask, apiKey } = await t().tenant());
  ({ sandbox } = await sandboxOf(ask));
  folder = await mkdtemp(join(tmpdir(), "api-files-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  t().peer.fileScript = undefined;
});

const urlOf = (path: string, more = "", noun = "sandboxes") =>
  `${t().api.url}/v1/${noun}/${sandbox}/files?${new URLSearchParams({ path }).toString()}${more}`;
const headers = (more: Record<string, string> = {}) => ({
  authorization: `Bearer ${apiKey}`,
  "content-type": "application/octet-stream",
  ...more,
});
const put = (url: string, body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) =>
  fetch(url, { method: "PUT", headers: headers(more), body });
const get = (url: string) => fetch(url, { headers: headers() });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe("a file", () => {
  it.each(["sandboxes", "sessions"])("goes up and comes down byte for byte by /v1/%s, larger than any other body may be", async (noun) => {
    const bytes = randomBytes(40 * 1024 * 1024 + 3);
    const path = join(folder, noun, "a b", "ü.bin");
    const up = await put(urlOf(path, "&mode=750", noun), bytes);
    expect([up.status, await up.json()]).toEqual([200, { path, size: bytes.length, sha256: sha256(bytes) }]);
    expect((await stat(path)).mode & 0o7777).toBe(0o750);
    const down = await get(urlOf(path, "", noun));
    expect([down.status, down.headers.get("content-type"), down.headers.get("content-length")]).toEqual([
      200,
      "application/octet-stream",
      String(bytes.length),
    ]);
    expect([down.headers.get("x-content-sha256"), down.headers.get("etag"), down.headers.get("x-file-mode")]).toEqual([
      sha256(bytes),
      `"${sha256(bytes)}"`,
      "0750",
    ]);
    expect((await bytesOf(down)).equals(bytes)).toBe(true);
  });

  it("may be empty, and may come without its length", async () => {
    expect(await (await put(urlOf(join(folder, "empty")), new Uint8Array())).json()).toMatchObject({ size: 0 });
    expect((await bytesOf(await get(urlOf(join(folder, "empty"))))).length).toBe(0);
    const path = join(folder, "chunked");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of ["one ", "two"]) controller.enqueue(Buffer.from(part));
        controller.close();
      },
    });
    const init = { method: "PUT", headers: headers(), body, duplex: "half" } as RequestInit;
    expect((await fetch(urlOf(path), init)).status).toBe(200);
    expect(await readFile(path, "utf8")).toBe("one two");
  });

  it("whose sender leaves in the middle is not there, and nothing of it", async () => {
    const path = join(folder, "left", "half");
    const taken = Promise.withResolvers<void>();
    const cut = Promise.withResolvers<void>();
    const { serveFile } = await import("../../tests/file-peer.ts");
    t().peer.fileScript = async (request, response, query) => {
      request.once("data", () => taken.resolve());
      await serveFile(request, response, query).finally(() => cut.resolve());
    };
    const upload = httpRequest(urlOf(path), { method: "PUT", headers: headers({ "content-length": "1000000" }) });
    upload.on("error", () => undefined);
    upload.write(Buffer.alloc(300_000));
    await taken.promise;
    upload.destroy();
    await cut.promise;
    expect(await readdir(join(folder, "left"))).toEqual([]);
  });

  it("with other bytes than its sender meant is refused", async () => {
    const path = join(folder, "claimed");
    const right = sha256(Buffer.from("x"));
    expect((await put(urlOf(path), "x", { "x-content-sha256": right })).status).toBe(200);
    const answer = await put(urlOf(path), "y", { "x-content-sha256": right });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ code: "bad_request", path, message: expect.stringContaining("SHA-256") }),
    ]);
    expect(await readFile(path, "utf8")).toBe("x");
  });

  it("wakes a suspended sandbox", async () => {
    await ask("POST", `/v1/sandboxes/${sandbox}/suspend`, {});
    expect((await put(urlOf(join(folder, "awake")), "x")).status).toBe(200);
    expect((await ask("GET", `/v1/sandboxes/${sandbox}`)).body.state).toBe("running");
  });
});

describe("bounded memory", () => {
  it("what a node does not take, the caller cannot send", async () => {
    const go = Promise.withResolvers<void>();
    const { serveFile } = await import("../../tests/file-peer.ts");
    t().peer.fileScript = async (request, response, query) => {
      await go.promise;
      await serveFile(request, response, query);
    };
    const upload = httpRequest(urlOf(join(folder, "pressed")), { method: "PUT", headers: headers() });
    const answered = once(upload, "response");
    const sent = await sendUntilHeldBack(upload, 400);
    expect(sent).toBeLessThan(400);
    go.resolve();
    upload.end();
    await answered;
    expect((await stat(join(folder, "pressed"))).size).toBe(sent * MIB);
  });
});

const MIB = 1024 * 1024;

/** Sends a MiB after the other until nothing moves for a second; how many. */
async function sendUntilHeldBack(upload: ClientRequest, most: number): Promise<number> {
  const piece = Buffer.alloc(MIB);
  for (let sent = 1; sent <= most; sent++) {
    const room = upload.write(piece);
    if (!room && !(await drained(upload))) return sent;
  }
  return most;
}

async function drained(upload: ClientRequest): Promise<boolean> {
  return once(upload, "drain", { signal: AbortSignal.timeout(1_000) }).then(
    () => true,
    () => false,
  );
}

describe("refusals", () => {
  it("404 names the file that is not there", async () => {
    const path = join(folder, "none");
    const answer = await get(urlOf(path));
    expect([answer.status, await answer.json()]).toEqual([
      404,
      expect.objectContaining({ code: "not_found", path, message: expect.stringContaining(path) }),
    ]);
    const daemon = await (await get(urlOf(path, "", "sessions"))).json();
    expect(daemon).toMatchObject({ error_code: "not_found", path });
  });
  it("400 for a directory, a large upload in its place too", async () => {
    for (const answer of [await get(urlOf(folder)), await put(urlOf(folder), Buffer.alloc(8 * MIB))])
      expect([answer.status, await answer.json()]).toEqual([
        400,
        expect.objectContaining({ code: "bad_request", message: expect.stringContaining("directory") }),
      ]);
  });
  it("a refusal in the middle of a body leaves the connection in order", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (let i = 0; i < 3; i++) {
        const upload = httpRequest(urlOf(folder), { method: "PUT", headers: headers(), agent });
        upload.end(Buffer.alloc(8 * MIB));
        const [answer] = await once(upload, "response");
        expect(answer.statusCode).toBe(400);
        answer.resume();
        await once(answer, "end");
      }
    } finally {
      agent.destroy();
    }
  });
  it.each([
    ["path=", /^path: /],
    ["path=relative", /^path: an absolute path/],
    ["path=/a/", /^path: an absolute path/],
    ["path=/a%00b", /^path: an absolute path/],
    [`path=/${"x".repeat(4_096)}`, /^path: longer than/],
    ["path=/a&path=/b", /^path: /],
    ["path=/a&mode=9", /^mode: octal/],
    ["path=/a&mode=17777", /^mode: octal/],
    ["", /^path: /],
  ])("400 names the field of ?%.40s", async (query, message) => {
    const answer = await put(`${t().api.url}/v1/sandboxes/${sandbox}/files?${query}`, "x");
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ message: expect.stringMatching(message) })]);
  });
  it("415 for a body that is not said to be bytes", async () => {
    const answer = await put(urlOf(join(folder, "json")), "{}", { "content-type": "application/json" });
    expect([answer.status, await answer.json()]).toEqual([415, expect.objectContaining({ code: "unsupported_media_type" })]);
  });
  it("another tenant's sandbox looks like none", async () => {
    const other = await t().tenant();
    expect(await other.ask("GET", `/v1/sandboxes/${sandbox}/files?path=/etc/passwd`)).toMatchObject({
      status: 404,
      body: { code: "not_found", message: `no sandbox ${sandbox}` },
    });
  });
  it("410 for a sandbox that its node does not know", async () => {
    const own = await sandboxOf(ask);
    t().peer.sandboxes.delete(own.sandbox);
    expect(await ask("GET", `/v1/sandboxes/${own.sandbox}/files?path=/a`)).toMatchObject({ status: 410, body: { code: "session_gone" } });
  });
  it("502 for a node that breaks off before it answers", async () => {
    t().peer.fileScript = (_request, response) => Promise.resolve(void response.destroy());
    expect((await get(urlOf("/a"))).status).toBe(502);
    expect((await put(urlOf("/a"), "x")).status).toBe(502);
  });
  it("a download that breaks off is not taken for a whole one", async () => {
    t().peer.fileScript = (_request, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write("part", () => response.destroy());
      return Promise.resolve();
    };
    const answer = await get(urlOf("/a"));
    expect(answer.status).toBe(200);
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });
});
