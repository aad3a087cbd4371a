// SPDX-License-Identifier: Apache-2.0
import type { Client } from "../client.ts";
import { ConfigurationError, SeedNotAppliedError, SessionClosedError } from "../errors.ts";
import type { Egress } from "../wire.generated.ts";
import { type ExecOptions, type ExecResult, execBody, readExecResult } from "./exec.ts";
import type { DownloadOptions, UploadOptions } from "./files.ts";
import type { ForkGroup, ForkOptions } from "./fork-group.ts";
import type { SandboxInfo } from "./sandbox.ts";
import { seedFromKey } from "./seed.ts";

export interface SessionOptions {
  readonly label?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Network policy; default: the template's. */
  readonly egress?: Egress;
  /** Names of secrets, never values. */
  readonly secretRefs?: readonly string[];
  /** Limit of an exec that names none, in seconds. Default 30. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** What a session knows of its sandbox besides what the server lists. */
export interface SessionFacts {
  /** Milliseconds, -1 if the server did not say: the restore itself, and the whole create. */
  readonly forkTimeMs: number;
  readonly createTimeMs: number;
  readonly timeoutSeconds: number;
  readonly seed: string | undefined;
}

export const EXEC_TIMEOUT_S = 30;

/** One live sandbox and the duty to delete it: `await using session = await client.session(template)`. */
export class Session implements AsyncDisposable {
  readonly sandbox: SandboxInfo;
  readonly forkTimeMs: number;
  readonly createTimeMs: number;
  /** The seed that this sandbox was given, if any. */
  readonly seed: string | undefined;
  readonly #client: Client;
  readonly #timeoutSeconds: number;
  #execs = 0;
  #closing: Promise<void> | undefined;

  constructor(client: Client, sandbox: SandboxInfo, facts: SessionFacts) {
    this.#client = client;
    this.sandbox = sandbox;
    this.forkTimeMs = facts.forkTimeMs;
    this.createTimeMs = facts.createTimeMs;
    this.seed = facts.seed;
    this.#timeoutSeconds = facts.timeoutSeconds;
  }

  get id(): string {
    return this.sandbox.id;
  }

  get endpoints(): Readonly<Record<string, string>> {
    return this.sandbox.endpoints;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Runs something and waits for its end. A non-zero exit code, a time-out and running out of memory are results.
   * It is never sent twice unless it is certain that it did not run.
   * @example
   * const result = await session.exec({ code: "print(6 * 7)" });
   */
  async exec(options: ExecOptions): Promise<ExecResult> {
    this.#mustBeOpen();
    const seed = options.seed ?? (await this.#seedOfNextExec());
    if (options.requireSeed && seed === undefined) throw new ConfigurationError("requireSeed without a seed");
    const body = execBody(options, options.timeoutSeconds ?? this.#timeoutSeconds, seed);
    const result = readExecResult(await this.#client.exec(this.id, body, options.signal));
    if (options.requireSeed && result.seedAck !== "verified") {
      throw new SeedNotAppliedError(
        `sandbox ${this.id}: the seed was not verified (${result.seedAck}); the run's randomness is not the one asked for`,
      );
    }
    return result;
  }

  /** The first exec has the session's seed, each later one a seed drawn from it: steps must not repeat each other's randomness. */
  async #seedOfNextExec(): Promise<string | undefined> {
    const step = this.#execs++;
    if (this.seed === undefined || step === 0) return this.seed;
    return seedFromKey(`exec:${step}`, this.seed);
  }

  /**
   * Writes a file as a whole: it is there with all its bytes, or nothing has changed. Missing parents are made.
   * Rejects with a FileError when the sandbox cannot have such a file.
   * @example
   * await session.upload("/srv/data.bin", bytes);
   */
  upload(path: string, data: Uint8Array | string, options: UploadOptions = {}): Promise<void> {
    this.#mustBeOpen();
    return this.#client.upload(this.id, path, data, options);
  }

  /** The bytes of a file. Rejects with a FileError when there is no such file. */
  download(path: string, options: DownloadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    this.#mustBeOpen();
    return this.#client.download(this.id, path, options);
  }

  /**
   * Forks the live sandbox into `count` children with its processes, memory and files: one request, all or none.
   * The session itself goes on. Close the group to delete the children.
   * @example
   * await using group = await session.fork(64);
   * const rewards = await group.map(async (child, i) => ((await child.exec({ code: candidates[i] })).ok ? 1 : 0));
   */
  fork(count: number, options: ForkOptions = {}): Promise<ForkGroup> {
    this.#mustBeOpen();
    return this.#client.forkSession(this, count, { timeoutSeconds: this.#timeoutSeconds, ...options });
  }

  /** Keeps the sandbox on disk, without cost of memory or CPU. */
  suspend(signal?: AbortSignal): Promise<void> {
    this.#mustBeOpen();
    return this.#client.changeSandbox(this.id, "suspend", signal);
  }

  resume(signal?: AbortSignal): Promise<void> {
    this.#mustBeOpen();
    return this.#client.changeSandbox(this.id, "resume", signal);
  }

  /** Deletes the sandbox. Once is enough; a sandbox that is gone already is no error. */
  close(): Promise<void> {
    this.#closing ??= this.#client.deleteSandbox(this.id).then(() => undefined);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #mustBeOpen(): void {
    if (this.closed) throw new SessionClosedError(`the session on sandbox ${this.id} is closed; open a new one`);
  }
}
