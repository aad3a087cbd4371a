// SPDX-License-Identifier: Apache-2.0
/** The engine without queues and without HTTP, in the caller's process: for benchmarks and for tests of the engine itself. */
import type { ExecRequest } from "@collimate/contracts";
import { createLogger } from "@collimate/telemetry";
import { readConfig } from "./config.ts";
import type { Engine } from "./engine.ts";
import { mountMemoryFolder, requireOwnMountNamespace } from "./memory-mount.ts";
import { startNode } from "./node.ts";
import { type AgentPaths, makePaths } from "./paths.ts";
import { execInSandbox } from "./sandbox/exec.ts";

export { limitsOf } from "./slot/limits.ts";

export interface BareEngineOptions {
  readonly nodeId: string;
  /** The engine's state folder. Its path must be short: sockets lie below it. */
  readonly state: string;
  readonly tools: string;
  readonly insecureRegistries: readonly string[];
  readonly slotsReady: number;
  /** More settings of the agent, by their names in the environment. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BareEngine extends AsyncDisposable {
  readonly engine: Engine;
  readonly paths: AgentPaths;
  readonly cgroupVersion: "v1" | "v2";
  /** Runs something in a sandbox the way the agent's HTTP surface does. */
  run(sandboxId: string, request: ExecRequest): Promise<Said>;
}

/** Must be called in a mount namespace of its own. Disposing of it ends every sandbox. */
export async function startBareEngine(options: BareEngineOptions): Promise<BareEngine> {
  await requireOwnMountNamespace();
  const config = readConfig({
    NODE_ID: options.nodeId,
    REDIS_URL: "none",
    AGENT_SECRET: "x".repeat(32),
    AGENT_STATE: options.state,
    COLLIMATE_TOOLS: options.tools,
    REGISTRY_INSECURE_HOSTS: options.insecureRegistries.join(","),
    AGENT_SLOTS_READY: String(options.slotsReady),
    ...options.settings,
  });
  const paths = await makePaths(options.state);
  await mountMemoryFolder(paths.memory, config.AGENT_MEMORY_MIB);
  const node = await startNode(config, paths, createLogger({ service: "bare-engine", level: "warn" }));
  return {
    engine: node.engine,
    paths,
    cgroupVersion: node.cgroupVersion,
    run: async (sandboxId, request) => {
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      const sink = { stdout: (chunk: Buffer) => void out.push(chunk), stderr: (chunk: Buffer) => void err.push(chunk) };
      const end = await execInSandbox(node.engine.registry.live(sandboxId), request, sink, new AbortController().signal);
      return { exitCode: end.exit_code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
    },
    [Symbol.asyncDispose]: () => node.stop(),
  };
}
