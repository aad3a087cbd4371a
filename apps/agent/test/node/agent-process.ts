// SPDX-License-Identifier: Apache-2.0
/** The agent as it is run in production: a process of its own in a mount namespace of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type Registry, toolsDirectory } from "@collimate/embedded";
import type { Heartbeat } from "@collimate/contracts";
import { sweep } from "./leftovers.ts";
import { Platform } from "./platform.ts";

export interface NodeFacts {
  readonly nodeId: string;
  readonly pid: number;
  readonly url: string;
  readonly state: string;
  readonly socket: string;
  readonly daemonPort: number;
  readonly redisUrl: string;
  readonly secret: string;
  readonly image: string;
}

export interface AgentOptions {
  readonly nodeId: string;
  readonly redisUrl: string;
  readonly registry: Registry["host"];
  readonly image: string;
  /** Kept when the agent stops; made, and then removed, when missing. */
  readonly state?: string;
  readonly env?: Record<string, string>;
}

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");
const SECRET = "a secret of tests, long enough to be one";
const READY_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 30_000;

export class AgentProcess implements AsyncDisposable {
  readonly facts: NodeFacts;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | NodeJS.Signals | null>;
  readonly #ownsState: boolean;

  private constructor(child: ChildProcess, facts: NodeFacts, ended: AgentProcess["ended"], ownsState: boolean) {
    this.#child = child;
    this.facts = facts;
    this.#ended = ended;
    this.#ownsState = ownsState;
  }

  /** Resolves when its first heartbeat has come. */
  static async start(options: AgentOptions): Promise<AgentProcess> {
    const state = options.state ?? (await mkdtemp(join(tmpdir(), "collimate-agent-")));
    const daemonPort = await freePort();
    const socket = join(state, "session", "serve.sock");
    // Each of these becomes the next: the pid is the agent's. A test run that is broken off takes its agents along.
    const child = spawn(
      "setpriv",
      ["--pdeathsig", "TERM", "--", "unshare", "--mount", "--propagation", "private", "--", process.execPath, MAIN],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: {
          PATH: process.env["PATH"],
          NODE_ID: options.nodeId,
          REDIS_URL: options.redisUrl,
          AGENT_SECRET: SECRET,
          AGENT_STATE: state,
          AGENT_SOCKET: socket,
          AGENT_DAEMON_PORT: String(daemonPort),
          COLLIMATE_TOOLS: toolsDirectory(),
          REGISTRY_INSECURE_HOSTS: options.registry,
          AGENT_SLOTS_READY: "8",
          HEARTBEAT_MS: "200",
          ...options.env,
        },
      },
    );
    const log = createWriteStream(logOf(state), { flags: "a" });
    child.stdout?.pipe(log);
    child.stderr?.pipe(log);
    const ended = once(child, "exit").then(([code, signal]: (number | NodeJS.Signals | null)[]) => code ?? signal ?? null);
    const part = {
      nodeId: options.nodeId,
      pid: child.pid ?? 0,
      state,
      socket,
      daemonPort,
      redisUrl: options.redisUrl,
      secret: SECRET,
      image: options.image,
    };
    await using platform = new Platform({ ...part, url: "" });
    const since = Date.now();
    const ready = platform.next(
      (report): report is Heartbeat => report.kind === "heartbeat" && report.nodeId === options.nodeId && report.at >= since,
      READY_LIMIT_MS,
    );
    const first = await Promise.race([ready, ended.then(() => undefined)]);
    if (!first) {
      ready.catch(() => {});
      await sweep(options.nodeId);
      throw new Error(`the agent ended before it was ready:\n${(await readFile(logOf(state), "utf8")).slice(-4_000)}`);
    }
    return new AgentProcess(child, { ...part, url: first.url }, ended, options.state === undefined);
  }

  /** Settles when the process has ended, with its exit code or the signal that ended it. */
  get ended(): Promise<number | NodeJS.Signals | null> {
    return this.#ended;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  log(): Promise<string> {
    return readFile(logOf(this.facts.state), "utf8");
  }

  /** As the platform stops it; gives its exit code. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    const late = setTimeout(() => this.signal("SIGKILL"), STOP_LIMIT_MS);
    this.signal("SIGTERM");
    const end = await this.#ended;
    clearTimeout(late);
    return end;
  }

  /** Also what a killed agent has left, so that a test that fails leaves nothing to the next. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await sweep(this.facts.nodeId);
    if (this.#ownsState) await rm(this.facts.state, { recursive: true, force: true });
  }
}

const logOf = (state: string): string => join(state, "agent.log");
