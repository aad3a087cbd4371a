// SPDX-License-Identifier: Apache-2.0
import { CollimateError } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { parseReference } from "./reference.ts";

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("an image reference", () => {
  it.each([
    ["python", "docker.io/library/python:latest"],
    ["python:3.12-slim", "docker.io/library/python:3.12-slim"],
    ["owner/app", "docker.io/owner/app:latest"],
    ["docker.io/python", "docker.io/library/python:latest"],
    ["quay.io/a/b/c:v1", "quay.io/a/b/c:v1"],
    ["localhost/app", "localhost/app:latest"],
    ["127.0.0.1:5000/collimate/python", "127.0.0.1:5000/collimate/python:latest"],
    ["localhost:5000/app:5000", "localhost:5000/app:5000"],
    [`registry.example/a@${DIGEST}`, `registry.example/a@${DIGEST}`],
    // The digest decides: a tag beside it is dropped.
    [`registry.example/a:tag@${DIGEST}`, `registry.example/a@${DIGEST}`],
    ["a__b/c--d/e.f_g", "docker.io/a__b/c--d/e.f_g:latest"],
  ])("%s is %s", (text, full) => {
    expect(parseReference(text).full).toBe(full);
  });

  it("tells its parts", () => {
    expect(parseReference(`127.0.0.1:5000/a/b:t@${DIGEST}`)).toEqual({
      full: `127.0.0.1:5000/a/b@${DIGEST}`,
      registry: "127.0.0.1:5000",
      repository: "a/b",
      tag: "t",
      digest: DIGEST,
    });
  });

  it.each([
    ["nothing", ""],
    ["an option of a program", "--tls-verify=false"],
    ["an option in the place of the registry", "-x/app"],
    ["another transport", "oci:/etc:x"],
    ["another transport with slashes", "dir:///etc"],
    ["a URL", "https://registry.example/app"],
    ["a path", "/etc/passwd"],
    ["a way up", "../../etc/passwd"],
    ["a way up inside", "registry.example/a/../b"],
    ["a command", "app;reboot"],
    ["a substitution", "app$(reboot)"],
    ["a line break at the end", "app\n"],
    ["a second line", "app\n--option"],
    ["a zero byte", "app\0"],
    ["a blank", "my app"],
    ["upper case in the repository", "registry.example/App"],
    ["letters that only look like ours", "registry.example/аpp"],
    ["an empty component", "registry.example//app"],
    ["a slash at the end", "registry.example/app/"],
    ["an empty tag", "app:"],
    ["a tag that begins like an option", "app:-x"],
    ["a tag that is too long", `app:${"t".repeat(129)}`],
    ["a short digest", "app@sha256:abc"],
    ["an upper-case digest", `app@${DIGEST.toUpperCase()}`],
    ["a digest of another kind", `app@md5:${"0".repeat(32)}`],
    ["two digests", `app@${DIGEST}@${DIGEST}`],
    ["a user before the registry", "user@registry.example/app"],
    ["a port that is too long", "registry.example:123456/app"],
  ])("is refused when it is %s", (_what, text) => {
    expect(() => parseReference(text)).toThrow(CollimateError);
  });

  it("is refused soon, however long it is", () => {
    const begun = performance.now();
    for (const text of [`${"a-".repeat(50_000)}!`, `${"a/".repeat(50_000)}!`, `${"a.".repeat(50_000)}:/`, "a".repeat(100_000) + "!"]) {
      expect(() => parseReference(text)).toThrow(/is not an OCI reference/);
    }
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  it("that is refused is quoted no longer than a reader wants", () => {
    expect(() => parseReference(`!${"x".repeat(10_000)}`)).toThrow(
      expect.objectContaining({ code: "bad_request", message: expect.stringMatching(/^.{1,300}$/) }),
    );
  });
});
