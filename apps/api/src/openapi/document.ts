// SPDX-License-Identifier: Apache-2.0
/** The OpenAPI document, made from the schemas that requests are parsed with. A test holds its list of routes and the real one together. */
import {
  createSandboxReplySchema,
  createSandboxSchema,
  createSessionSchema,
  createTemplateSchema,
  ERRORS,
  execReplySchema,
  execRequestSchema,
  expectSchema,
  FILE_TYPE,
  fileReplySchema,
  forkReplySchema,
  forkSandboxSchema,
  getFileSchema,
  idSchema,
  oneShotSchema,
  putFileSchema,
  sandboxRowSchema,
  sessionInfoSchema,
  templateStatusSchema,
  usageQuerySchema,
  usageReplySchema,
} from "@collimate/contracts";
import type { ErrorRow } from "@collimate/contracts";
import { z } from "zod";
import { connectUrlSchema } from "../sandbox/connect-url.ts";

/** In place of a schema: any bytes. */
const BYTES = "bytes";

export interface DocumentedRoute {
  readonly method: "get" | "post" | "put" | "delete";
  readonly path: string;
  readonly summary: string;
  readonly body?: z.ZodType | typeof BYTES;
  readonly query?: Readonly<Record<string, z.ZodType>>;
  readonly reply: z.ZodType | typeof BYTES;
  readonly status?: number;
  /** Whether an Idempotency-Key is heeded. */
  readonly keyed?: boolean;
}

const nothing = z.object({});
const deletedSandbox = z.object({ deleted: z.literal(true), id: idSchema, state: z.enum(["deleted", "deleting"]) });
const image = z.object({
  id: idSchema,
  name: z.string(),
  image: z.string(),
  visibility: z.enum(["public", "private"]),
  phase: z.string(),
  tier: z.string(),
  description: z.string(),
});
const session = z.object({
  session_id: idSchema,
  template_id: z.string(),
  fork_time_ms: z.number(),
  create_time_ms: z.number(),
  endpoints: z.record(z.string(), z.string()),
});
const health = z.looseObject({ status: z.enum(["ok", "draining"]), version: z.string() });

export const ROUTES: readonly DocumentedRoute[] = [
  { method: "get", path: "/v1/health", summary: "Whether the server runs; with a key, the tenant's figures", reply: health },
  {
    method: "get",
    path: "/v1/images",
    summary: "What can be run: the catalog and one's own templates",
    reply: z.object({ images: z.array(image) }),
  },
  {
    method: "post",
    path: "/v1/templates",
    summary: "Bake a template; the same name and body give the same one",
    body: createTemplateSchema,
    reply: templateStatusSchema,
    status: 201,
  },
  {
    method: "get",
    path: "/v1/templates",
    summary: "Own templates and the catalog's",
    reply: z.object({ templates: z.array(templateStatusSchema) }),
  },
  { method: "get", path: "/v1/templates/{id}", summary: "A template's status, by id or name", reply: templateStatusSchema },
  {
    method: "delete",
    path: "/v1/templates/{id}",
    summary: "Delete a template that has no live sandbox",
    reply: z.object({ deleted: z.literal(true), id: idSchema }),
  },
  {
    method: "post",
    path: "/v1/templates/{id}/expect",
    summary: "Announce a width",
    body: expectSchema,
    reply: z.object({ id: idSchema, expected_width: z.int() }),
  },
  {
    method: "post",
    path: "/v1/templates/{id}/release",
    summary: "Take an announced width back",
    body: nothing,
    reply: z.object({ id: idSchema, released: z.literal(true), released_at: z.string() }),
  },
  {
    method: "post",
    path: "/v1/sandboxes",
    summary: "Create a sandbox; answers when it runs",
    body: createSandboxSchema,
    reply: createSandboxReplySchema,
    status: 201,
    keyed: true,
  },
  {
    method: "get",
    path: "/v1/sandboxes",
    summary: "All sandboxes that are not deleted, oldest first",
    reply: z.object({ sandboxes: z.array(sandboxRowSchema) }),
  },
  { method: "get", path: "/v1/sandboxes/{id}", summary: "One sandbox", reply: sandboxRowSchema },
  { method: "delete", path: "/v1/sandboxes/{id}", summary: "Delete a sandbox", reply: deletedSandbox },
  {
    method: "post",
    path: "/v1/sandboxes/{id}/exec",
    summary: "Run something in a sandbox",
    body: execRequestSchema,
    reply: execReplySchema,
  },
  {
    method: "post",
    path: "/v1/sandboxes/{id}/fork",
    summary: "Fork a live sandbox: all children or none",
    body: forkSandboxSchema,
    reply: forkReplySchema,
    status: 201,
    keyed: true,
  },
  { method: "post", path: "/v1/sandboxes/{id}/suspend", summary: "Suspend a sandbox", body: nothing, reply: sandboxRowSchema },
  { method: "post", path: "/v1/sandboxes/{id}/resume", summary: "Resume a suspended sandbox", body: nothing, reply: sandboxRowSchema },
  {
    method: "post",
    path: "/v1/sandboxes/{id}/connect-url",
    summary: "A URL for a port of a sandbox (not available yet: 501)",
    body: connectUrlSchema,
    reply: z.object({ url: z.string(), expires_at: z.string() }),
  },
  {
    method: "post",
    path: "/v1/sessions",
    summary: "Create a sandbox, in the daemon's words",
    body: createSessionSchema,
    reply: session,
    status: 201,
    keyed: true,
  },
  { method: "get", path: "/v1/sessions", summary: "All sandboxes, in the daemon's words", reply: z.array(sessionInfoSchema) },
  { method: "get", path: "/v1/sessions/{id}", summary: "One sandbox, in the daemon's words", reply: sessionInfoSchema },
  {
    method: "delete",
    path: "/v1/sessions/{id}",
    summary: "Delete a sandbox, in the daemon's words",
    reply: z.object({ deleted: z.literal(true), session_id: idSchema }),
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/exec",
    summary: "Run something in a sandbox, in the daemon's words",
    body: execRequestSchema,
    reply: execReplySchema,
  },
  {
    method: "post",
    path: "/v1/exec",
    summary: "Create, run, delete",
    body: z.intersection(execRequestSchema, oneShotSchema),
    reply: execReplySchema,
  },
  ...["sandboxes", "sessions"].flatMap((noun): DocumentedRoute[] => [
    {
      method: "put",
      path: `/v1/${noun}/{id}/files`,
      summary: "Write a file of any size as a whole; parents are made",
      query: putFileSchema.shape,
      body: BYTES,
      reply: fileReplySchema,
    },
    { method: "get", path: `/v1/${noun}/{id}/files`, summary: "Read a file of any size", query: getFileSchema.shape, reply: BYTES },
  ]),
  {
    method: "get",
    path: "/v1/usage",
    summary: "Running time in a window; the last 30 days by default",
    query: usageQuerySchema.shape,
    reply: usageReplySchema,
  },
];

function jsonSchema(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, target: "draft-2020-12", unrepresentable: "any" });
  return rest;
}

const content = (schema: object) => ({ "application/json": { schema } });

function contentOf(schema: z.ZodType | typeof BYTES, io: "input" | "output"): object {
  return schema === BYTES ? { [FILE_TYPE]: {} } : content(jsonSchema(schema, io));
}

function parameters(route: DocumentedRoute): object[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(route.query ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: !schema.safeParse(undefined).success,
    schema: jsonSchema(schema, "input"),
  }));
  const key = route.keyed
    ? [
        {
          name: "Idempotency-Key",
          in: "header",
          required: false,
          schema: { type: "string", maxLength: 255 },
          description: "The same key with the same body is the same operation.",
        },
      ]
    : [];
  return [...inPath, ...inQuery, ...key];
}

function describe(route: DocumentedRoute): object {
  return {
    summary: route.summary,
    operationId: `${route.method}_${route.path
      .replace(/^\/v1\//, "")
      .replace(/[^a-z0-9]+/gi, "_")
      .replace(/_$/, "")}`,
    parameters: parameters(route),
    ...(route.body ? { requestBody: { required: route.body !== nothing, content: contentOf(route.body, "input") } } : {}),
    responses: {
      [route.status ?? 200]: { description: "Done", content: contentOf(route.reply, "output") },
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function errorSchema(): object {
  const codes = Object.entries(ERRORS).map(([code, row]: [string, ErrorRow]) => `\`${code}\` (${row.status}): ${row.hint}`);
  const text = { type: "string" };
  return {
    type: "object",
    required: ["code", "message", "error", "error_code", "hint", "retryable", "request_id", "doc_url"],
    properties: {
      code: { type: "string", enum: Object.keys(ERRORS), description: codes.join("\n") },
      message: text,
      error: { ...text, description: "The message again, for clients that look here." },
      error_code: text,
      hint: text,
      retryable: { type: "boolean" },
      request_id: text,
      doc_url: text,
      detail: text,
    },
  };
}

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of ROUTES) paths[route.path] = { ...paths[route.path], [route.method]: describe(route) };
  return {
    openapi: "3.1.0",
    info: { title: "Collimate", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key: col_..." } },
      responses: { Error: { description: "An error of the catalogue", content: content({ $ref: "#/components/schemas/Error" }) } },
      schemas: { Error: errorSchema() },
    },
  };
}
