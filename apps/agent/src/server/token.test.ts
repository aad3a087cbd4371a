// SPDX-License-Identifier: Apache-2.0
import { SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { TokenCheck } from "./token.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const check = new TokenCheck(SECRET);

interface Wanted {
  secret?: string;
  claims?: Record<string, unknown>;
  subject?: string;
  expires?: string | number;
  algorithm?: string;
}

function token({
  secret = SECRET,
  claims = { tenant: "ten_1", op: "exec" },
  subject = "sb_1",
  expires = "60s",
  algorithm = "HS256",
}: Wanted = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm })
    .setSubject(subject)
    .setExpirationTime(expires)
    .sign(new TextEncoder().encode(secret));
}

describe("the token of an exec", () => {
  it("gives the claims when it is ours, alive, and for this sandbox and use", async () => {
    expect(await check.verify(`Bearer ${await token()}`, "sb_1", "exec")).toEqual({ sub: "sb_1", tenant: "ten_1", op: "exec" });
  });

  it.each<[string, () => Promise<string | undefined>]>([
    ["there is none", async () => undefined],
    ["it is empty", async () => "Bearer "],
    ["it has another scheme", async () => `Basic ${await token()}`],
    ["something follows it", async () => `Bearer ${await token()} x`],
    ["it is no token", async () => "Bearer x.y.z"],
    ["another secret signed it", async () => `Bearer ${await token({ secret: "f".repeat(32) })}`],
    [
      "nobody signed it",
      async () => `Bearer ${new UnsecuredJWT({ tenant: "ten_1", op: "exec" }).setSubject("sb_1").setExpirationTime("60s").encode()}`,
    ],
    ["it has another algorithm", async () => `Bearer ${await token({ algorithm: "HS512", secret: SECRET.repeat(2) })}`],
    ["it has expired", async () => `Bearer ${await token({ expires: Math.floor(Date.now() / 1_000) - 60 })}`],
    [
      "it never expires",
      async () => {
        const endless = new SignJWT({ tenant: "ten_1", op: "exec" }).setProtectedHeader({ alg: "HS256" }).setSubject("sb_1");
        return `Bearer ${await endless.sign(new TextEncoder().encode(SECRET))}`;
      },
    ],
    ["it is for another sandbox", async () => `Bearer ${await token({ subject: "sb_2" })}`],
    ["it is for another use", async () => `Bearer ${await token({ claims: { tenant: "ten_1", op: "files" } })}`],
    ["it names no tenant", async () => `Bearer ${await token({ claims: { op: "exec" } })}`],
  ])("is refused when %s", async (_what, make) => {
    await expect(check.verify(await make(), "sb_1", "exec")).rejects.toMatchObject({ code: "unauthorized" });
  });
});
