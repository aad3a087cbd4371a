// SPDX-License-Identifier: Apache-2.0
/**
 * A small server that speaks the wire contract over real HTTP: every body that comes in and every reply that goes out is
 * checked with the contract's own schemas. It keeps state, honours Idempotency-Key, and breaks on request.
 */
import {
  CollimateError,
  createSandboxReplySchema,
  createSandboxSchema,
  createTemplateSchema,
  type ErrorCode,
  errorBody,
  ERRORS,
  execReplySchema,
  execRequestSchema,
  expectSchema,
  FILE_HASH_HEADER,
  FILE_TYPE,
  type FileReply,
  fileReplySchema,
  forkReplySchema,
  forkSandboxSchema,
  getFileSchema,
  newId,
  putFileSchema,
  type SandboxRow,
  sandboxRowSchema,
  type TemplateStatus,
  templateStatusSchema,
  usageReplySchema,
} from "@collimate/contracts";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

export const KEY: string = `col_pro_abcdefgh_${"0".repeat(32)}`;
const RESOURCES = { vcpus: 1, memory_mib: 4096, disk_mib: 10_240, pids: 1024 };

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** What to do instead of, or before, the ordinary answer. True: it was dealt with. */
export type Fault = (request: Seen, response: ServerResponse) => boolean | Promise<boolean>;

export class WireServer implements AsyncDisposable {
  readonly templates: Map<string, TemplateStatus> = new Map();
  readonly sandboxes: Map<string, SandboxRow> = new Map();
  /** By sandbox and path. */
  readonly files: Map<string, Buffer> = new Map();
  /** Requests as they came, each try by itself. */
  readonly seen: Seen[] = [];
  /** Runs of an exec, by sandbox: tells a repeated run from a repeated request. */
  readonly runs: { readonly sandboxId: string; readonly seed: string | undefined }[] = [];
  /** Most execs that ran at one time. */
  widest = 0;
  /** What a run waits for. */
  running: () => Promise<void> = () => Promise.resolve();
  #execs = 0;
  #faults: Fault[] = [];
  readonly #answers = new Map<string, { readonly status: number; readonly body: unknown }>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  static async start(): Promise<WireServer> {
    const server = new WireServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next request that `matches` meets `fault` first. */
  fail(matches: string, fault: Fault): void {
    const once: Fault = (request, response) => {
      if (`${request.method} ${request.path}`.search(matches) === -1) return false;
      this.#faults = this.#faults.filter((other) => other !== once);
      return fault(request, response);
    };
    this.#faults.push(once);
  }

  /** The requests of one kind, e.g. `POST /v1/sandboxes$`. */
  requests(matches: string): Seen[] {
    return this.seen.filter((request) => `${request.method} ${request.path}`.search(matches) !== -1);
  }

  addTemplate(values: Partial<TemplateStatus> = {}): TemplateStatus {
    const template: TemplateStatus = {
      id: newId("template"),
      name: "swe",
      image: "registry/python@sha256:0",
      visibility: "private",
      phase: "Live",
      declared: 0,
      warm: 0,
      frozen: 0,
      build_fails: 0,
      per_node: [],
      converge_state: "converged",
      bake_mode: "built",
      error: "",
      created_at: new Date().toISOString(),
      resources: RESOURCES,
      ...values,
    };
    this.templates.set(template.id, template);
    return template;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const text = request.method === "PUT" ? "" : bytes.toString("utf8");
    const seen: Seen = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: request.method === "PUT" ? bytes : text === "" ? undefined : JSON.parse(text),
    };
    this.seen.push(seen);
    for (const fault of this.#faults) if (await fault(seen, response)) return;
    const { status, body } = await this.answer(seen);
    if (Buffer.isBuffer(body))
      response.writeHead(status, { "content-type": FILE_TYPE, "content-length": body.length, [FILE_HASH_HEADER]: sha256(body) }).end(body);
    else send(response, status, body);
  }

  /** The ordinary answer; the same Idempotency-Key has the same one. */
  async answer(seen: Seen): Promise<{ status: number; body: unknown }> {
    const key = seen.headers["idempotency-key"];
    const known = typeof key === "string" ? this.#answers.get(key) : undefined;
    if (known) return known;
    const answer = await this.#make(seen).catch((error: unknown) => {
      const told =
        error instanceof CollimateError
          ? error
          : error instanceof z.ZodError
            ? new CollimateError("bad_request", z.prettifyError(error))
            : undefined;
      if (!told) throw error;
      const path = new URL(seen.path, this.url).searchParams.get("path");
      return {
        status: told.status,
        body: { ...errorBody(told, newId("request")), ...(path && told.message.includes(path) ? { path } : {}) },
      };
    });
    if (typeof key === "string" && answer.status < 400) this.#answers.set(key, answer);
    return answer;
  }

  async #make(seen: Seen): Promise<{ status: number; body: unknown }> {
    if (seen.headers.authorization !== `Bearer ${KEY}`) throw new CollimateError("unauthorized", "unknown key");
    const [, , noun = "", id = "", verb = ""] = new URL(seen.path, this.url).pathname.split("/");
    const route = `${seen.method} ${noun}${id ? "/:id" : ""}${verb ? `/${verb}` : ""}`;
    switch (route) {
      case "GET health":
        return ok({ status: "ok" });
      case "GET images":
        return ok({ images: [...this.templates.values()].filter((t) => t.visibility === "public") });
      case "GET templates":
        return ok({ templates: [...this.templates.values()].filter((t) => t.visibility === "private") });
      case "POST templates":
        return ok(this.#bake(seen.body));
      case "GET templates/:id":
        return ok(templateStatusSchema.parse(this.#template(id)));
      case "DELETE templates/:id":
        this.templates.delete(this.#template(id).id);
        return ok({ deleted: true, id });
      case "POST templates/:id/expect":
        return ok({ id, expected_width: expectSchema.parse(seen.body).width });
      case "POST templates/:id/release":
        return ok({ id: this.#template(id).id, released: true, released_at: new Date().toISOString() });
      case "POST sandboxes":
        return ok(this.#create(seen.body));
      case "GET sandboxes":
        return ok({ sandboxes: [...this.sandboxes.values()] });
      case "GET sandboxes/:id":
        return ok(sandboxRowSchema.parse(this.#sandbox(id)));
      case "DELETE sandboxes/:id":
        this.sandboxes.delete(this.#sandbox(id).id);
        return ok({ deleted: true, id });
      case "POST sandboxes/:id/exec":
        return ok(await this.#exec(id, seen.body));
      case "POST sandboxes/:id/fork":
        return ok(this.#fork(id, seen.body));
      case "PUT sandboxes/:id/files":
        return ok(this.#putFile(id, seen));
      case "GET sandboxes/:id/files":
        return ok(this.#getFile(id, seen));
      case "POST sandboxes/:id/suspend":
        this.sandboxes.set(id, { ...this.#sandbox(id), state: "suspended" });
        return ok({ id, state: "suspended" });
      case "POST sandboxes/:id/resume":
        this.sandboxes.set(id, { ...this.#sandbox(id), state: "running" });
        return ok({ id, state: "running" });
      case "GET usage":
        return ok(this.#usage(new URL(seen.path, this.url).searchParams));
      default:
        throw new CollimateError("not_found", `no route ${route}`);
    }
  }

  #template(ref: string): TemplateStatus {
    const found = this.templates.get(ref) ?? [...this.templates.values()].find((t) => t.name === ref);
    if (!found) throw new CollimateError("not_found", `no template ${ref}`);
    return found;
  }

  #sandbox(id: string): SandboxRow {
    const found = this.sandboxes.get(id);
    if (!found) throw new CollimateError("not_found", `no sandbox ${id}`);
    return found;
  }

  #bake(body: unknown): TemplateStatus {
    const { name, image, pool } = createTemplateSchema.parse(body);
    const known = [...this.templates.values()].find((t) => t.name === name && t.image === image);
    return known ?? this.addTemplate({ name, image, declared: pool?.width ?? 0, phase: "Pending", converge_state: "converging" });
  }

  #row(template: string, values: Partial<SandboxRow> = {}): SandboxRow {
    const id = newId("sandbox");
    const row: SandboxRow = {
      id,
      session_id: id,
      template,
      template_id: template,
      state: "running",
      label: "",
      labels: {},
      parent_id: "",
      group_id: "",
      endpoints: {},
      resources: RESOURCES,
      created_at: new Date().toISOString(),
      age_secs: 0,
      idle_secs: 0,
      exec_count: 0,
      error: "",
      ...values,
    };
    this.sandboxes.set(row.id, row);
    return row;
  }

  #create(body: unknown): z.infer<typeof createSandboxReplySchema> {
    const wanted = createSandboxSchema.parse(body);
    const row = this.#row(this.#template(wanted.template).id, { label: wanted.label ?? "", labels: wanted.labels ?? {} });
    return createSandboxReplySchema.parse({ ...row, fork_time_ms: 3, create_time_ms: 8 });
  }

  #fork(id: string, body: unknown): z.infer<typeof forkReplySchema> {
    const parent = this.#sandbox(id);
    const wanted = forkSandboxSchema.parse(body);
    const group = newId("operation");
    const children = Array.from({ length: wanted.count }, (_, i) =>
      this.#row(parent.template_id, { parent_id: id, group_id: group, label: wanted.labels?.[i] ?? "" }),
    );
    return forkReplySchema.parse({ id, parent: id, group_id: group, fork_time_ms: 12, pause_ms: 4, children });
  }

  /** Echoes its program; `exit N` ends with N, `sleep` waits on `running`. */
  async #exec(id: string, body: unknown): Promise<z.infer<typeof execReplySchema>> {
    this.#sandbox(id);
    const wanted = execRequestSchema.parse(body);
    this.runs.push({ sandboxId: id, seed: wanted.seed });
    this.widest = Math.max(this.widest, ++this.#execs);
    await this.running();
    this.#execs--;
    const program = wanted.command ?? wanted.code ?? JSON.stringify(wanted.commands ?? wanted.files);
    const exit = Number(/exit (\d+)/.exec(program)?.[1] ?? 0);
    return execReplySchema.parse({
      id: newId("exec"),
      stdout: program,
      stderr: wanted.stdin ?? "",
      exit_code: exit,
      fork_time_ms: 0,
      exec_time_ms: 1,
      total_time_ms: 2,
      seed: wanted.seed ?? "f".repeat(64),
      seed_ack: wanted.seed === undefined ? "off" : "verified",
      timed_out: false,
      oom_killed: false,
      signal: 0,
      truncated: false,
    });
  }

  #putFile(id: string, seen: Seen): FileReply {
    this.#sandbox(id);
    const { path } = putFileSchema.parse(Object.fromEntries(new URL(seen.path, this.url).searchParams));
    const bytes = z.instanceof(Buffer).parse(seen.body);
    expectHash(seen.headers[FILE_HASH_HEADER], bytes);
    this.files.set(`${id}:${path}`, bytes);
    return fileReplySchema.parse({ path, size: bytes.length, sha256: sha256(bytes) });
  }

  #getFile(id: string, seen: Seen): Buffer {
    this.#sandbox(id);
    const { path } = getFileSchema.parse(Object.fromEntries(new URL(seen.path, this.url).searchParams));
    const found = this.files.get(`${id}:${path}`);
    if (!found) throw new CollimateError("not_found", `cannot read ${path}`);
    return found;
  }

  #usage(query: URLSearchParams): z.infer<typeof usageReplySchema> {
    const totals = { sandboxes: this.sandboxes.size, live_seconds: 10, vcpu_seconds: 10.5, memory_gib_seconds: 40, cost_micros: 7 };
    return usageReplySchema.parse({
      from: query.get("from") ?? "2026-01-01T00:00:00Z",
      to: query.get("to") ?? "2026-02-01T00:00:00Z",
      totals,
    });
  }
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function expectHash(claimed: unknown, bytes: Buffer): void {
  if (claimed !== sha256(bytes)) throw new CollimateError("bad_request", "other bytes than were announced");
}

function ok(body: unknown): { status: number; body: unknown } {
  return { status: 200, body };
}

export function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** Answers with an error of the catalogue. */
export function refuse(code: ErrorCode, message: string = code, headers: Record<string, string> = {}): Fault {
  return (_request, response) => {
    send(response, ERRORS[code].status, errorBody(new CollimateError(code, message), "req_1"), headers);
    return true;
  };
}
