// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEY, refuse, send, WireServer } from "../../tests/wire-server.ts";
import type { Client } from "../client.ts";
import { connect, type ConnectOptions } from "../connection/connect.ts";
import {
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  ConflictError,
  DeadlineError,
  ServerError,
  TransportError,
} from "../errors.ts";

let server: WireServer;
let client: Client;
const open = (options: ConnectOptions = {}): Promise<Client> => connect({ url: server.url, apiKey: KEY, env: {}, ...options });
beforeEach(async () => {
  server = await WireServer.start();
  client = await open();
});
afterEach(() => server[Symbol.asyncDispose]());

/** Cuts the connection after the server has done what was asked, so that the answer is lost. */
async function loseAnswer(request: Parameters<WireServer["answer"]>[0], response: { destroy(): void }): Promise<boolean> {
  await server.answer(request);
  response.destroy();
  return true;
}

describe("a create whose answer was lost", () => {
  it("is sent again with the same key and makes one sandbox", async () => {
    const template = server.addTemplate();
    server.fail("POST /v1/sandboxes$", loseAnswer);
    const session = await client.session(template.id);
    const [first, second, ...more] = server.requests("POST /v1/sandboxes$");
    expect(more).toEqual([]);
    expect(first?.headers["idempotency-key"]).toBe(second?.headers["idempotency-key"]);
    expect([...server.sandboxes.keys()]).toEqual([session.id]);
  });

  it("has another key than the next create", async () => {
    const template = server.addTemplate();
    await client.session(template.id);
    await client.session(template.id);
    const keys = server.requests("POST /v1/sandboxes$").map((request) => request.headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });
});

describe("an exec", () => {
  it("whose answer was lost is not run twice", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("POST .*/exec$", loseAnswer);
    await expect(session.exec({ command: "rm -rf /" })).rejects.toBeInstanceOf(TransportError);
    expect(server.runs).toHaveLength(1);
  });

  it("that the server says did not run is sent again", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("POST .*/exec$", refuse("draining"));
    expect((await session.exec({ command: "true" })).ok).toBe(true);
    expect(server.requests("POST .*/exec$")).toHaveLength(2);
    expect(server.runs).toHaveLength(1);
  });

  it("that may have run is not sent again, although the server calls the error retryable", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("POST .*/exec$", refuse("upstream_error"));
    await expect(session.exec({ command: "true" })).rejects.toBeInstanceOf(ServerError);
    expect(server.requests("POST .*/exec$")).toHaveLength(1);
  });

  it("is sent again when nobody listened", async () => {
    const session = await client.session(server.addTemplate().id);
    let refusals = 0;
    const refusing: typeof fetch = (...args) => {
      if (refusals++ > 0) return fetch(...args);
      return Promise.reject(
        new TypeError("fetch failed", { cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }) }),
      );
    };
    const other = await (await open({ fetch: refusing })).attach(session.id);
    expect((await other.exec({ command: "true" })).ok).toBe(true);
  });

  it("that is kept alive with blanks is answered", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("POST .*/exec$", async (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("  ");
      response.end(JSON.stringify((await server.answer(request)).body));
      return true;
    });
    expect((await session.exec({ command: "true" })).exitCode).toBe(0);
  });

  it("that was kept alive and then broke off is an error, not a success", async () => {
    const session = await client.session(server.addTemplate().id);
    server.fail("POST .*/exec$", (_request, response) => {
      send(response, 200, "   ");
      return true;
    });
    await expect(session.exec({ command: "true" })).rejects.toThrowError(/broke off/);
  });
});

describe("a server without room", () => {
  it("is asked again until it has some", async () => {
    const template = server.addTemplate();
    // More often than a mere failure would be repeated.
    for (let i = 0; i < 3; i++) server.fail("POST /v1/sandboxes$", refuse("at_capacity"));
    const few = await open({ retries: 1 });
    expect((await few.session(template.id)).id).toMatch(/^sb_/);
    expect(server.requests("POST /v1/sandboxes$")).toHaveLength(4);
  });

  it("is asked no longer than the client has patience", async () => {
    const template = server.addTemplate();
    server.fail("POST /v1/sandboxes$", refuse("at_capacity", "no room", { "retry-after": "60" }));
    const hasty = await open({ patienceMs: 1_000 });
    await expect(hasty.session(template.id)).rejects.toMatchObject({
      name: "CapacityError",
      code: "at_capacity",
      retryAfterSeconds: 60,
      requestId: "req_1",
    });
    await expect(hasty.session(template.id)).resolves.toBeDefined();
  });

  it("that still works on it is joined with the same key at once", async () => {
    const template = server.addTemplate();
    for (let i = 0; i < 6; i++) server.fail("POST /v1/sandboxes$", refuse("operation_timeout"));
    await client.session(template.id);
    expect(new Set(server.requests("POST /v1/sandboxes$").map((request) => request.headers["idempotency-key"])).size).toBe(1);
  });
});

describe("errors", () => {
  it("carry what the server said", async () => {
    const template = server.addTemplate();
    server.fail("POST /v1/sandboxes$", refuse("does_not_fit", "16 GiB do not fit"));
    await expect(client.session(template.id)).rejects.toMatchObject({
      name: "BadRequestError",
      message: "16 GiB do not fit",
      code: "does_not_fit",
      status: 422,
      retryable: false,
      hint: "Raise the template's resources.",
      docUrl: "/docs/errors/does_not_fit",
    });
  });

  it.each([
    ["unauthorized", AuthenticationError],
    ["bad_request", BadRequestError],
    ["template_in_use", ConflictError],
    ["internal", ServerError],
  ] as const)("of code %s are final", async (code, kind) => {
    server.fail("GET /v1/health", refuse(code));
    await expect(client.health()).rejects.toBeInstanceOf(kind);
    expect(server.requests("GET /v1/health")).toHaveLength(1);
  });

  it("of a proxy in between are understood, and repeated for a read", async () => {
    server.fail("GET /v1/health", (_request, response) => {
      send(response, 502, "<html>Bad Gateway</html>", { "content-type": "text/html" });
      return true;
    });
    expect(await client.health()).toEqual({ status: "ok" });
  });

  it("are given up on after the agreed number of tries", async () => {
    for (let i = 0; i < 3; i++) server.fail("GET /v1/health", refuse("upstream_error"));
    await expect((await open({ retries: 2 })).health()).rejects.toBeInstanceOf(ServerError);
    expect(server.requests("GET /v1/health")).toHaveLength(3);
  });

  it("say so when there is no answer in time", async () => {
    server.fail("GET /v1/usage", () => new Promise(() => undefined));
    await expect((await open({ timeoutMs: 50, patienceMs: 10 })).usage()).rejects.toBeInstanceOf(DeadlineError);
  });

  it("name the address that did not answer", async () => {
    const gone = await WireServer.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const error: unknown = await (await open({ url, retries: 0 })).health().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "TransportError", unsent: true });
    expect(String(error)).toContain(`${url}/v1/health`);
  });
});

describe("a redirect", () => {
  it("is not followed: the key stays with the server it is for", async () => {
    await using elsewhere = await WireServer.start();
    server.fail("GET /v1/health", (_request, response) => {
      send(response, 302, "", { location: `${elsewhere.url}/v1/health` });
      return true;
    });
    await expect((await open({ retries: 0 })).health()).rejects.toBeInstanceOf(TransportError);
    expect(elsewhere.seen).toEqual([]);
  });
});

describe("an abandoned call", () => {
  it("rejects at once with the caller's reason", async () => {
    const stop = new AbortController();
    server.fail("GET /v1/usage", () => {
      stop.abort(new Error("enough"));
      return new Promise(() => undefined);
    });
    await expect(client.usage({ signal: stop.signal })).rejects.toThrowError("enough");
  });

  it("leaves no sandbox: what it makes later is deleted", async () => {
    const template = server.addTemplate();
    const stop = new AbortController();
    let answerIt = (): void => undefined;
    server.fail("POST /v1/sandboxes$", async (request, response) => {
      const made = await server.answer(request);
      stop.abort(new Error("enough"));
      await new Promise<void>((resolve) => {
        answerIt = resolve;
      });
      send(response, made.status, made.body);
      return true;
    });
    await expect(client.session(template.id, { signal: stop.signal })).rejects.toThrowError("enough");
    expect(server.sandboxes.size).toBe(1);
    answerIt();
    await client.close();
    expect(server.sandboxes.size).toBe(0);
  });

  it("of a fork leaves no child", async () => {
    const session = await client.session(server.addTemplate().id);
    const stop = new AbortController();
    server.fail("POST .*/fork$", async (request, response) => {
      const made = await server.answer(request);
      stop.abort(new Error("enough"));
      send(response, made.status, made.body);
      return true;
    });
    await expect(session.fork(8, { signal: stop.signal })).rejects.toThrowError("enough");
    await client.close();
    expect([...server.sandboxes.keys()]).toEqual([session.id]);
  });
});

describe("a closed client", () => {
  it("sends nothing", async () => {
    await client.close();
    await expect(client.health()).rejects.toBeInstanceOf(ConfigurationError);
    expect(server.seen).toEqual([]);
  });
});
