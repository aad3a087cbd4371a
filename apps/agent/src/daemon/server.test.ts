// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { originForm } from "./server.ts";

describe("a request target", () => {
  it.each([
    ["/v1/health", "/v1/health"],
    ["http://localhost/v1/health", "/v1/health"],
    ["HTTP://localhost:8080/v1/sessions?x=1", "/v1/sessions?x=1"],
    ["https://a@b", "/"],
    ["http://localhost?x", "/?x"],
    ["//elsewhere/v1", "//elsewhere/v1"],
    ["*", "*"],
  ])("%s is read as %s", (target, path) => {
    expect(originForm(target)).toBe(path);
  });
});
