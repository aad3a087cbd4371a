// SPDX-License-Identifier: Apache-2.0
import { CollimateError, NotFoundError, TeardownError } from "./errors.ts";
import { type Json, number, record, records, text } from "./json.ts";
import { type DownloadOptions, downloadFile, uploadFile, type UploadOptions } from "./session/files.ts";
import { type ForkGroup, type ForkOptions, forkGroup } from "./session/fork-group.ts";
import { mapAll } from "./session/map-all.ts";
import { readSandbox, type SandboxInfo } from "./session/sandbox.ts";
import { EXEC_TIMEOUT_S, Session, type SessionOptions } from "./session/session.ts";
import { type EnvOptions, type Env, openEnv } from "./template/env.ts";
import type { TemplateHandle } from "./template/handle.ts";
import { readTemplateStatus, type TemplateStatus } from "./template/status.ts";
import type { Http } from "./transport/http.ts";
import { LateResults } from "./transport/late-result.ts";
import { readUsage, type Usage, type UsageQuery } from "./usage.ts";
import type { CreateSandbox, CreateTemplate, ExecRequest, ForkSandbox } from "./wire.generated.ts";

/** Requests at once while tearing down. */
const TEARDOWN_WIDTH = 64;
/** How long a delete is repeated before it is reported as failed, in ms. */
const TEARDOWN_PATIENCE_MS = 60_000;
/** The answer of an exec comes this long after its own limit at the latest, in ms: a suspended sandbox is resumed first. */
const EXEC_MARGIN_MS = 130_000;

const at = (...parts: string[]): string => `/v1/${parts.map(encodeURIComponent).join("/")}`;

/** One server and one key. Made by `connect()`; may be shared by everything in a program. */
export class Client implements AsyncDisposable {
  readonly #http: Http;
  readonly #late: LateResults = new LateResults();

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  async health(signal?: AbortSignal): Promise<Json> {
    return record(await this.#http.send({ method: "GET", path: at("health"), repeat: "free", signal }));
  }

  /** Opens a session: a fresh sandbox of a template. Waits while the server has no room. */
  async session(template: TemplateHandle | string, options: SessionOptions = {}): Promise<Session> {
    const body: CreateSandbox = {
      template: typeof template === "string" ? template : template.id,
      ...(options.label === undefined ? {} : { label: options.label }),
      ...(options.labels === undefined ? {} : { labels: { ...options.labels } }),
      ...(options.egress === undefined ? {} : { egress: options.egress }),
      ...(options.secretRefs === undefined ? {} : { secret_refs: [...options.secretRefs] }),
    };
    const reply = record(
      await this.#late.take(
        (signal) => this.#http.send({ method: "POST", path: at("sandboxes"), body, repeat: "keyed", signal }),
        (made) => this.deleteSandbox(text(record(made), "id")),
        options.signal,
      ),
    );
    if (text(reply, "id") === "") throw new CollimateError("the server's answer names no sandbox");
    return new Session(this, readSandbox(reply), {
      forkTimeMs: number(reply, "fork_time_ms", -1),
      createTimeMs: number(reply, "create_time_ms", -1),
      timeoutSeconds: options.timeoutSeconds ?? EXEC_TIMEOUT_S,
      seed: undefined,
    });
  }

  /** A session on a sandbox that exists. Closing it deletes the sandbox. */
  async attach(sandboxId: string, options: Pick<SessionOptions, "timeoutSeconds" | "signal"> = {}): Promise<Session> {
    const sandbox = await this.getSandbox(sandboxId, options.signal);
    return new Session(this, sandbox, {
      forkTimeMs: -1,
      createTimeMs: -1,
      timeoutSeconds: options.timeoutSeconds ?? EXEC_TIMEOUT_S,
      seed: undefined,
    });
  }

  /**
   * A catalog image or a template of your own, by id or name. With `width` that many sandboxes are expected until it is
   * released; with `ready` or `env` a catalog image is baked anew under `name`.
   * @example
   * await using env = await client.env("swe-rollout", { width: 64 });
   * await using session = await env.sandbox();
   */
  env(ref: string, options: EnvOptions = {}): Promise<Env> {
    return openEnv(this, ref, options);
  }

  /** What was used between two times; default: the last 30 days. */
  async usage(query: UsageQuery = {}): Promise<Usage> {
    const parameters = new URLSearchParams();
    if (query.from) parameters.set("from", query.from.toISOString());
    if (query.to) parameters.set("to", query.to.toISOString());
    const suffix = parameters.size > 0 ? `?${parameters.toString()}` : "";
    return readUsage(await this.#http.send({ method: "GET", path: `${at("usage")}${suffix}`, repeat: "free", signal: query.signal }));
  }

  /** The catalog, and templates of your own that the server lists with it. */
  async images(signal?: AbortSignal): Promise<TemplateStatus[]> {
    return rows(await this.#http.send({ method: "GET", path: at("images"), repeat: "free", signal }), ["images", "templates"]).map(
      readTemplateStatus,
    );
  }

  async listTemplates(signal?: AbortSignal): Promise<TemplateStatus[]> {
    return rows(await this.#http.send({ method: "GET", path: at("templates"), repeat: "free", signal }), ["templates"]).map(
      readTemplateStatus,
    );
  }

  /** `ref`: id or name. */
  async getTemplate(ref: string, signal?: AbortSignal): Promise<TemplateStatus> {
    return readTemplateStatus(await this.#http.send({ method: "GET", path: at("templates", ref), repeat: "free", signal }));
  }

  /** `Template.bake` says the same in this language's words. */
  async createTemplate(body: CreateTemplate, signal?: AbortSignal): Promise<TemplateStatus> {
    return readTemplateStatus(await this.#http.send({ method: "POST", path: at("templates"), body, repeat: "keyed", signal }));
  }

  async deleteTemplate(id: string, signal?: AbortSignal): Promise<void> {
    await this.#http.send({ method: "DELETE", path: at("templates", id), repeat: "free", signal });
  }

  /** Declares that `width` sandboxes are expected at once; gives what the plan allows of it. */
  async expectWidth(id: string, width: number, signal?: AbortSignal): Promise<number> {
    const reply = record(
      await this.#http.send({ method: "POST", path: at("templates", id, "expect"), body: { width }, repeat: "free", signal }),
    );
    return number(reply, "expected_width", width);
  }

  async releaseTemplate(id: string, signal?: AbortSignal): Promise<void> {
    await this.#http.send({ method: "POST", path: at("templates", id, "release"), body: {}, repeat: "free", signal });
  }

  async listSandboxes(signal?: AbortSignal): Promise<SandboxInfo[]> {
    return rows(await this.#http.send({ method: "GET", path: at("sandboxes"), repeat: "free", signal }), ["sandboxes"]).map(readSandbox);
  }

  async getSandbox(id: string, signal?: AbortSignal): Promise<SandboxInfo> {
    return readSandbox(await this.#http.send({ method: "GET", path: at("sandboxes", id), repeat: "free", signal }));
  }

  /** True if it was there. Every error but "not found" rejects: a sandbox that was not deleted goes on costing. */
  async deleteSandbox(id: string): Promise<boolean> {
    try {
      const reply = record(
        await this.#http.send({ method: "DELETE", path: at("sandboxes", id), repeat: "free", patienceMs: TEARDOWN_PATIENCE_MS }),
      );
      return reply["deleted"] !== false;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** @internal */
  exec(id: string, body: ExecRequest, signal: AbortSignal | undefined): Promise<unknown> {
    const timeoutMs = (body.timeout_seconds ?? EXEC_TIMEOUT_S) * 1_000 + EXEC_MARGIN_MS;
    return this.#http.send({ method: "POST", path: at("sandboxes", id, "exec"), body, repeat: "careful", timeoutMs, signal });
  }

  /** @internal */
  upload(id: string, path: string, data: Uint8Array | string, options: UploadOptions): Promise<void> {
    return uploadFile(this.#http, at("sandboxes", id, "files"), path, data, options);
  }

  /** @internal */
  download(id: string, path: string, options: DownloadOptions): Promise<Uint8Array<ArrayBuffer>> {
    return downloadFile(this.#http, at("sandboxes", id, "files"), path, options);
  }

  /** @internal */
  forkSession(parent: Session, count: number, options: ForkOptions & { readonly timeoutSeconds: number }): Promise<ForkGroup> {
    return forkGroup(this, parent, count, options);
  }

  /** @internal */
  fork(id: string, body: ForkSandbox, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#late.take(
      (inner) => this.#http.send({ method: "POST", path: at("sandboxes", id, "fork"), body, repeat: "keyed", signal: inner }),
      (made) => this.deleteAll(records(record(made)["children"]).map((child) => text(child, "id"))),
      signal,
    );
  }

  /** @internal */
  async changeSandbox(id: string, change: "suspend" | "resume", signal: AbortSignal | undefined): Promise<void> {
    await this.#http.send({ method: "POST", path: at("sandboxes", id, change), body: {}, repeat: "keyed", signal });
  }

  /** @internal */
  deleteAll(ids: readonly string[]): Promise<void> {
    return tearDown(ids.map((id) => ({ id, close: () => this.deleteSandbox(id) })));
  }

  /** @internal */
  closeAll(sessions: readonly Session[]): Promise<void> {
    return tearDown(sessions);
  }

  /** Waits until what abandoned calls made is deleted, then sends nothing any more. Sessions are closed by their owners. */
  async close(): Promise<void> {
    await this.#late.settled();
    this.#http.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function tearDown(things: readonly { readonly id: string; close(): Promise<unknown> }[]): Promise<void> {
  const attempts = await mapAll(things, (thing) => Promise.allSettled([thing.close()]), { concurrency: TEARDOWN_WIDTH });
  const failures = attempts.flatMap(([outcome], index) =>
    outcome.status === "rejected" ? [{ sandboxId: things[index]?.id ?? "", error: outcome.reason as unknown }] : [],
  );
  if (failures.length > 0) throw new TeardownError(failures);
}

/** The rows of a list, which comes under one of `keys` or bare. */
function rows(reply: unknown, keys: readonly string[]): Json[] {
  if (Array.isArray(reply)) return records(reply);
  const key = keys.find((candidate) => candidate in record(reply));
  return key === undefined ? [] : records(record(reply)[key]);
}
