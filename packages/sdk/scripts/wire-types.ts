// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the contract's types as plain TypeScript. The contract is zod schemas; shipping their inferred types would make
 * every user of the SDK install zod to read a declaration file.
 */
import {
  createSandboxReplySchema,
  createSandboxSchema,
  createTemplateSchema,
  egressSchema,
  ERRORS,
  execReplySchema,
  execRequestSchema,
  forkReplySchema,
  forkSandboxSchema,
  perNodeSchema,
  readySchema,
  resourcesSchema,
  sandboxRowSchema,
  sandboxStateSchema,
  seedAckSchema,
  templatePhaseSchema,
  templateStatusSchema,
  usageReplySchema,
  usageTotalsSchema,
} from "@collimate/contracts";
import { z } from "zod";

/** What a client sends: fields with a default may be left out. */
const REQUESTS = {
  CreateTemplate: createTemplateSchema,
  Ready: readySchema,
  Egress: egressSchema,
  CreateSandbox: createSandboxSchema,
  ForkSandbox: forkSandboxSchema,
  ExecRequest: execRequestSchema,
};
/** What a client gets. */
const REPLIES = {
  Resources: resourcesSchema,
  TemplatePhase: templatePhaseSchema,
  PerNode: perNodeSchema,
  TemplateStatusReply: templateStatusSchema,
  SandboxState: sandboxStateSchema,
  SandboxRow: sandboxRowSchema,
  CreateSandboxReply: createSandboxReplySchema,
  ForkReply: forkReplySchema,
  SeedAck: seedAckSchema,
  ExecReply: execReplySchema,
  UsageTotals: usageTotalsSchema,
  UsageReply: usageReplySchema,
};

/** The part of JSON Schema that our contracts need. Anything else stops the generator. */
const nodeSchema = z.looseObject({
  $ref: z.string().optional(),
  type: z.string().optional(),
  enum: z.array(z.union([z.string(), z.number()])).optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
  description: z.string().optional(),
});

function typeOf(schema: unknown, indent: string): string {
  const node = nodeSchema.parse(schema);
  if (node.$ref !== undefined) return node.$ref;
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (node.anyOf) return node.anyOf.map((option) => typeOf(option, indent)).join(" | ");
  const type = node.type ?? "unknown";
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `Array<${typeOf(node.items, indent)}>`;
    case "object":
      return node.properties
        ? objectType(node.properties, node.required ?? [], indent)
        : `Record<string, ${typeOf(node.additionalProperties, indent)}>`;
    default:
      throw new Error(`the SDK's type writer does not know ${JSON.stringify(schema)}`);
  }
}

function objectType(properties: Record<string, unknown>, required: readonly string[], indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const text = nodeSchema.parse(schema).description;
    const comment = text === undefined ? "" : `${inner}/** ${text} */\n`;
    return `${comment}${inner}${name}${required.includes(name) ? "" : "?"}: ${typeOf(schema, inner)};`;
  });
  return `{\n${fields.join("\n")}\n${indent}}`;
}

function declarations(schemas: Record<string, z.ZodType>, io: "input" | "output"): string[] {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { io, uri: (id) => id }).schemas;
  return Object.keys(schemas).map((name) => `export type ${name} = ${typeOf(made[name], "")};`);
}

export function wireTypes(): string {
  const codes = Object.keys(ERRORS).map((code) => `  | ${JSON.stringify(code)}`);
  return [
    "// SPDX-License-Identifier: Apache-2.0",
    "// Written by scripts/generate-wire.ts from @collimate/contracts. Do not edit: `pnpm generate:wire` writes it anew.",
    `/** Every code of the error catalogue. */\nexport type ErrorCode =\n${codes.join("\n")};`,
    ...declarations(REQUESTS, "input"),
    ...declarations(REPLIES, "output"),
    "",
  ].join("\n\n");
}
