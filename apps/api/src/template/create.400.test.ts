// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest";
import { apiForFile } from "../../tests/api-under-test.ts";
import type { Ask } from "../../tests/api-under-test.ts";

const t = apiForFile();
let ask: Ask;
beforeAll(async () => {
  ({ ask } = await t().tenant());
});

describe("POST /v1/templates refuses", () => {
  it.each([
    ["no name", { image: "x" }, /^name: /],
    ["no body at all", undefined, /^name: .*image: /],
    ["a width that is no number", { name: "a", image: "x", pool: { width: "4" } }, /^pool\.width: /],
    ["a port out of range", { name: "a", image: "x", ready: { ports: [80, 70000] } }, /^ready\.ports\[1\]: /],
    ["a variable name with a blank", { name: "a", image: "x", ready: { env: { "A B": "1" } } }, /^ready\.env\.A B: /],
  ])("%s, naming the field", async (_what, body, message) => {
    const answer = await ask("POST", "/v1/templates", body);
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request", error_code: "bad_request", retryable: false } });
    expect(answer.body.message).toMatch(message);
    expect(answer.body.error).toBe(answer.body.message);
    expect(answer.body.request_id).toBe(answer.headers.get("x-request-id"));
  });

  it("what is not JSON", async () => {
    const answer = await ask("POST", "/v1/templates", '{"name": ');
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
    expect(answer.body.message).toContain("not JSON");
  });
});
