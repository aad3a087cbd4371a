// SPDX-License-Identifier: Apache-2.0
/** Checks the short-lived tokens with which the api speaks to a sandbox. */
import { CollimateError, type ExecToken, execTokenSchema } from "@collimate/contracts";
import { jwtVerify } from "jose";

export class TokenCheck {
  readonly #key: Uint8Array;

  constructor(secret: string) {
    this.#key = new TextEncoder().encode(secret);
  }

  /** The claims, if the token is ours, alive, and for this sandbox and kind of use. */
  async verify(authorization: string | undefined, sandboxId: string, op: ExecToken["op"]): Promise<ExecToken> {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization ?? "")?.[1];
    if (!token) throw new CollimateError("unauthorized", "no token");
    const verified = await jwtVerify(token, this.#key, { algorithms: ["HS256"], clockTolerance: 5, requiredClaims: ["exp"] }).catch(
      (cause: unknown) => {
        throw new CollimateError("unauthorized", "the token is not valid", { cause });
      },
    );
    const claims = execTokenSchema.safeParse(verified.payload);
    if (!claims.success || claims.data.sub !== sandboxId || claims.data.op !== op)
      throw new CollimateError("unauthorized", "the token is for something else");
    return claims.data;
  }
}
