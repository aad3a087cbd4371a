// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, refuse, send, WireServer } from "../../tests/wire-server.ts";
import type { Client } from "../client.ts";
import { connect } from "../connection/connect.ts";
import { ConfigurationError, DeadlineError, FileError, NotFoundError, SessionClosedError, TransportError } from "../errors.ts";
import type { Session } from "./session.ts";

let server: WireServer;
let client: Client;
let session: Session;
beforeEach(async () => {
  server = await WireServer.start();
  client = await connect({ url: server.url, apiKey: KEY, env: {}, retries: 1 });
  session = await client.session(server.addTemplate().id);
});
afterEach(() => server[Symbol.asyncDispose]());

const DATA = Uint8Array.from({ length: 300_000 }, (_, i) => i % 256);

describe("a file", () => {
  it.each([
    ["bytes of all values", DATA, DATA],
    ["nothing", new Uint8Array(), new Uint8Array()],
    ["a part of a buffer", DATA.subarray(5, 10), Uint8Array.of(5, 6, 7, 8, 9)],
    ["shared memory", new Uint8Array(new SharedArrayBuffer(3)), new Uint8Array(3)],
    ["text", "é\r\n", new TextEncoder().encode("é\r\n")],
  ])("of %s comes back as it went", async (_name, sent, wanted) => {
    await session.upload("/a b/ü?&=", sent);
    expect(await session.download("/a b/ü?&=")).toEqual(wanted);
  });

  it("is sent with its mode", async () => {
    await session.upload("/bin/x", "#!/bin/sh\n", { mode: 0o755 });
    expect(server.requests("PUT")[0]?.path).toMatch(/files\?path=%2Fbin%2Fx&mode=755$/);
  });

  it("that is not there is named", async () => {
    const missing = session.download("/none");
    await expect(missing).rejects.toBeInstanceOf(FileError);
    await expect(missing).rejects.toMatchObject({ path: "/none", message: "cannot read /none", cause: { code: "not_found", status: 404 } });
  });

  it("of a sandbox that is gone is not taken for a missing one", async () => {
    server.sandboxes.clear();
    await expect(session.download("/a")).rejects.toBeInstanceOf(NotFoundError);
  });

  it("is sent again when the way to the server has a bad moment", async () => {
    server.fail("PUT", refuse("upstream_error"));
    await session.upload("/a", DATA);
    server.fail("GET .*files", (_request, response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("part", () => response.destroy());
      return true;
    });
    expect(await session.download("/a")).toEqual(DATA);
  });

  it("whose bytes were changed on the way is not given out, nor taken for sent", async () => {
    await session.upload("/a", DATA);
    const changed = (): void =>
      server.fail("GET .*files", (_request, response) => {
        response.writeHead(200, { "x-content-sha256": "0".repeat(64) }).end("x");
        return true;
      });
    changed();
    await expect(session.download("/a")).rejects.toBeInstanceOf(TransportError);
    server.fail("PUT", (_request, response) => {
      send(response, 200, { path: "/a", size: 1, sha256: "0".repeat(64) });
      return true;
    });
    await expect(session.upload("/a", "x")).rejects.toThrowError(/confirm/);
  });

  it("larger than asked for is given up at once", async () => {
    await session.upload("/a", DATA);
    await expect(session.download("/a", { maxBytes: DATA.length - 1 })).rejects.toBeInstanceOf(FileError);
    expect(await session.download("/a", { maxBytes: DATA.length })).toHaveLength(DATA.length);
  });

  it("has a time limit, and a signal", async () => {
    await session.upload("/a", "x");
    server.fail("GET .*files", () => true);
    await expect(session.download("/a", { timeoutSeconds: 0.05 })).rejects.toBeInstanceOf(DeadlineError);
    const stop = new AbortController();
    server.fail("GET .*files", () => (stop.abort(new Error("enough")), true));
    await expect(session.download("/a", { signal: stop.signal })).rejects.toThrowError("enough");
  });

  it("with a path or limit that makes no sense is not asked for", async () => {
    await expect(session.download("a")).rejects.toBeInstanceOf(ConfigurationError);
    await expect(session.upload("/a", "x", { timeoutSeconds: 0 })).rejects.toBeInstanceOf(ConfigurationError);
    await session.close();
    expect(() => session.upload("/a", "x")).toThrowError(SessionClosedError);
    expect(server.requests("files")).toEqual([]);
  });
});
