// SPDX-License-Identifier: Apache-2.0
/** What every route has in common. */
import { BODY_MAX } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { apiForFile, askWith } from "../../tests/api-under-test.ts";
import { rawConnection } from "../../tests/raw-http.ts";
import { originForm } from "./build.ts";
import { fieldPath } from "./parse.ts";

const t = apiForFile();

/** All the strings that each published client reads, whoever wrote the error. */
function whole(code: string) {
  return {
    code,
    error_code: code,
    message: expect.any(String),
    error: expect.any(String),
    hint: expect.any(String),
    retryable: expect.any(Boolean),
    request_id: expect.stringMatching(/^req_/),
    doc_url: `/docs/errors/${code}`,
  };
}

describe("the framework's own errors have the catalogue's shape", () => {
  it("404 for a route that is none", async () => {
    const { ask } = await t().tenant();
    expect(await ask("GET", "/v1/nothing?x=1")).toMatchObject({ status: 404, body: whole("not_found") });
    expect(await ask("PATCH", "/v1/sandboxes")).toMatchObject({ status: 404, body: { message: "no route PATCH /v1/sandboxes" } });
    expect(await ask("GET", "/v1/sandboxes/%E0%A4%A")).toMatchObject({ status: 400, body: whole("bad_request") });
  });
  it("413 for a body over the limit, which is 32 MiB", async () => {
    const { ask } = await t().tenant();
    const answer = await ask("POST", "/v1/templates", `"${"x".repeat(BODY_MAX)}"`);
    expect(answer).toMatchObject({ status: 413, body: whole("payload_too_large") });
  });
  it("415 for a body that is not said to be JSON", async () => {
    const { ask } = await t().tenant();
    expect(await ask("POST", "/v1/templates", "a=1", { "content-type": "application/x-www-form-urlencoded" })).toMatchObject({
      status: 415,
      body: whole("unsupported_media_type"),
    });
  });
  it("400 for what is not HTTP", async () => {
    await using raw = await rawConnection(t().api.url);
    const { head, body } = await raw.ask("NONSENSE\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).toMatchObject(whole("bad_request"));
  });
  it("400 for a body with __proto__ in it", async () => {
    const { ask } = await t().tenant();
    expect(await ask("POST", "/v1/templates", '{"name":"a","image":"b","ready":{"env":{"__proto__":"x"}}}')).toMatchObject({
      status: 400,
      body: whole("bad_request"),
    });
  });
});

describe("every route", () => {
  const routes = [
    ["GET", "/v1/images"],
    ["GET", "/v1/templates"],
    ["POST", "/v1/templates"],
    ["GET", "/v1/templates/x"],
    ["DELETE", "/v1/templates/x"],
    ["POST", "/v1/templates/x/expect"],
    ["POST", "/v1/templates/x/release"],
    ["GET", "/v1/sandboxes"],
    ["POST", "/v1/sandboxes"],
    ["GET", "/v1/sandboxes/x"],
    ["DELETE", "/v1/sandboxes/x"],
    ["POST", "/v1/sandboxes/x/exec"],
    ["GET", "/v1/sandboxes/x/files?path=/a"],
    ["POST", "/v1/sandboxes/x/fork"],
    ["POST", "/v1/sandboxes/x/suspend"],
    ["POST", "/v1/sandboxes/x/resume"],
    ["POST", "/v1/sandboxes/x/connect-url"],
    ["GET", "/v1/sessions"],
    ["POST", "/v1/sessions"],
    ["GET", "/v1/sessions/x"],
    ["DELETE", "/v1/sessions/x"],
    ["POST", "/v1/sessions/x/exec"],
    ["POST", "/v1/exec"],
    ["GET", "/v1/usage"],
  ] as const;
  it.each(routes)("%s %s needs a key", async (method, path) => {
    expect(await askWith(t().api.url, undefined)(method, path)).toMatchObject({ status: 401, body: whole("unauthorized") });
  });
  it.each(routes)("%s %s takes a JSON content type without a body", async (method, path) => {
    const { ask } = await t().tenant();
    const answer = await ask(method, path, undefined, { "content-type": "application/json" });
    // Whatever it says, it is about fields or ids, and never that the body was empty.
    const told = answer.status === 400 ? answer.body.message.split(":")[0] : answer.status;
    expect([200, 404, "name", "template", "template_id", "command", "port", "width"]).toContain(told);
  });
});

describe("connections", () => {
  it("are kept for at least an hour", async () => {
    await using raw = await rawConnection(t().api.url);
    const { head } = await raw.ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(Number(/keep-alive: timeout=(\d+)/i.exec(head)?.[1])).toBeGreaterThanOrEqual(3_600);
  });
  it("take an absolute-form target, and never compress", async () => {
    const { apiKey } = await t().tenant();
    await using raw = await rawConnection(t().api.url);
    const { head, body } = await raw.ask(
      `GET http://localhost/v1/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${apiKey}\r\nAccept-Encoding: gzip, identity\r\n\r\n`,
    );
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head).not.toMatch(/content-encoding/i);
    expect(JSON.parse(body)).toMatchObject({ status: "ok", templates: [], sessions: 0 });
  });
  it("carry the caller's request id where it is one, else a new one", async () => {
    const { ask } = await t().tenant();
    expect((await ask("GET", "/v1/templates", undefined, { "x-request-id": "trace-42" })).headers.get("x-request-id")).toBe("trace-42");
    expect((await ask("GET", "/v1/templates", undefined, { "x-request-id": "a b\tc" })).headers.get("x-request-id")).toMatch(
      /^req_[0-9a-f]{24}$/,
    );
  });
});

describe("small parts", () => {
  it.each([
    ["/v1/x", "/v1/x"],
    ["http://h:1/v1/x?y=1", "/v1/x?y=1"],
    ["https://h", "/"],
    ["HTTP://h?x", "/?x"],
    ["*", "*"],
  ])("the origin form of %s is %s", (given, wanted) => {
    expect(originForm(given)).toBe(wanted);
  });
  it("a field's path reads as one would write it", () => {
    expect(fieldPath(["files", 2, "path"])).toBe("files[2].path");
    expect(fieldPath([0, "a"])).toBe("[0].a");
  });
});
