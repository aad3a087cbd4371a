// SPDX-License-Identifier: Apache-2.0
import type * as contract from "@collimate/contracts";
import type {
  createSandboxSchema,
  createTemplateSchema,
  ErrorCode as ContractErrorCode,
  execRequestSchema,
  forkSandboxSchema,
  readySchema,
} from "@collimate/contracts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { z } from "zod";
import { wireTypes } from "../scripts/wire-types.ts";
import type { ExecResult } from "./session/exec.ts";
import type { SandboxInfo } from "./session/sandbox.ts";
import type { TemplateStatus } from "./template/status.ts";
import type { Usage } from "./usage.ts";
import type * as wire from "./wire.generated.ts";

/** `exit_code` as this language writes it. */
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
/** Fields of a reply that a result of ours does not have, under its own name or a better one. */
type Missing<Reply, Result, Renamed extends string> = Exclude<Camel<Exclude<keyof Reply & string, Renamed>>, keyof Result>;

describe("the wire types", () => {
  it("are those of the contract as it is now", () => {
    expect(readFileSync(join(import.meta.dirname, "wire.generated.ts"), "utf8"), "run `pnpm generate:wire`").toBe(wireTypes());
  });

  it("say the same as the contract's schemas", () => {
    expectTypeOf<wire.ErrorCode>().toEqualTypeOf<ContractErrorCode>();
    expectTypeOf<wire.CreateTemplate>().toEqualTypeOf<z.input<typeof createTemplateSchema>>();
    expectTypeOf<wire.Ready>().toEqualTypeOf<z.input<typeof readySchema>>();
    expectTypeOf<wire.CreateSandbox>().toEqualTypeOf<z.input<typeof createSandboxSchema>>();
    expectTypeOf<wire.ForkSandbox>().toEqualTypeOf<z.input<typeof forkSandboxSchema>>();
    expectTypeOf<wire.ExecRequest>().toEqualTypeOf<z.input<typeof execRequestSchema>>();
    expectTypeOf<wire.TemplateStatusReply>().toEqualTypeOf<contract.TemplateStatus>();
    expectTypeOf<wire.SandboxRow>().toEqualTypeOf<contract.SandboxRow>();
    expectTypeOf<wire.CreateSandboxReply>().toEqualTypeOf<z.output<typeof contract.createSandboxReplySchema>>();
    expectTypeOf<wire.ForkReply>().toEqualTypeOf<contract.ForkReply>();
    expectTypeOf<wire.ExecReply>().toEqualTypeOf<contract.ExecReply>();
    expectTypeOf<wire.UsageReply>().toEqualTypeOf<contract.UsageReply>();
  });

  it("reach the user whole: no field of a reply is forgotten", () => {
    expectTypeOf<Missing<wire.TemplateStatusReply, TemplateStatus, never>>().toBeNever();
    expectTypeOf<Missing<wire.ExecReply, ExecResult, "id" | "fork_time_ms">>().toBeNever();
    expectTypeOf<Missing<wire.SandboxRow, SandboxInfo, "session_id" | "template" | "age_secs" | "idle_secs">>().toBeNever();
    expectTypeOf<Missing<wire.UsageTotals, Usage, never>>().toBeNever();
  });
});
