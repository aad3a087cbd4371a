// SPDX-License-Identifier: Apache-2.0
/**
 * The far end of the agent's exec and file surface (contracts/agent-stream.ts), for tests of the api alone: a real HTTP server that
 * checks the token and runs commands as plain processes of this machine. No isolation, so only for what tests send.
 */
import {
  AGENT_CHUNK_MAX,
  AGENT_STREAM_TYPE,
  CollimateError,
  EXEC_OUTPUT_MAX,
  execRequestSchema,
  execTokenSchema,
} from "@collimate/contracts";
import type { AgentExit, AgentLine, ExecRequest } from "@collimate/contracts";
import { jwtVerify } from "jose";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { serveFile } from "./file-peer.ts";

export interface ExecPeer extends AsyncDisposable {
  readonly url: string;
  /** Sandboxes that it says it has. */
  readonly sandboxes: Set<string>;
  /** What a test wants to happen instead of running the request. */
  script: ((request: ExecRequest, response: ServerResponse) => Promise<void> | void) | undefined;
  /** The same for a file. */
  fileScript: typeof serveFile | undefined;
  readonly connections: () => number;
}

export function send(response: ServerResponse, line: AgentLine): void {
  response.write(`${JSON.stringify(line)}\n`);
}

export const EXIT: AgentExit = {
  t: "x",
  exit_code: 0,
  exec_time_ms: 1,
  timed_out: false,
  oom_killed: false,
  signal: 0,
  truncated: false,
  seed: "ab".repeat(32),
  seed_ack: "off",
};

/** `has`: which sandboxes live here, if someone else keeps count of them. */
export async function startExecPeer(secret: string, has?: (sandboxId: string) => boolean): Promise<ExecPeer> {
  let connections = 0;
  const peer: Pick<ExecPeer, "script" | "fileScript" | "sandboxes"> = { script: undefined, fileScript: undefined, sandboxes: new Set() };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => refuse(response, error));
  });
  server.on("connection", () => connections++);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://node");
    const [, sandboxId = "", op = ""] = /^\/internal\/sandboxes\/([\w-]+)\/(exec|files)$/.exec(pathname) ?? [];
    await checkToken(secret, request.headers.authorization ?? "", sandboxId, op);
    const lives = (has ?? ((id) => peer.sandboxes.has(id)))(sandboxId);
    if (!lives) throw new CollimateError(op === "files" ? "session_gone" : "not_found", `no sandbox ${sandboxId} here`);
    if (op === "files") return (peer.fileScript ?? serveFile)(request, response, searchParams);
    const body = execRequestSchema.parse(JSON.parse(await text(request)));
    response.writeHead(200, { "content-type": AGENT_STREAM_TYPE });
    response.flushHeaders();
    if (peer.script) return peer.script(body, response);
    send(response, { ...EXIT, ...(await run(body, response)) });
    response.end();
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return Object.assign(peer, {
    url: `http://127.0.0.1:${address.port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

async function checkToken(secret: string, header: string, sandboxId: string, op: string): Promise<void> {
  const verified = await jwtVerify(header.replace(/^Bearer /, ""), new TextEncoder().encode(secret), {
    algorithms: ["HS256"],
    requiredClaims: ["exp"],
  }).catch((cause: unknown) => {
    throw new CollimateError("unauthorized", "bad token", { cause });
  });
  const claims = execTokenSchema.parse(verified.payload);
  if (claims.sub !== sandboxId || claims.op !== op || !claims.tenant.startsWith("ten_"))
    throw new CollimateError("unauthorized", "a token for something else");
}

function refuse(response: ServerResponse, error: unknown): void {
  const told = error instanceof CollimateError ? error : new CollimateError("internal", String(error));
  if (response.headersSent) return void response.destroy();
  response.writeHead(told.status, { "content-type": "application/json" }).end(JSON.stringify({ failure: told.toFailure() }));
}

/** As the wire contract says: files first; then `command`, else `commands` until one fails, else `code`. */
async function run(body: ExecRequest, response: ServerResponse): Promise<Partial<AgentExit>> {
  const started = performance.now();
  for (const file of body.files ?? []) {
    await mkdir(dirname(file.path), { recursive: true });
    await writeFile(file.path, file.content);
  }
  const seed = body.seed ?? EXIT.seed;
  const done = (exit: Partial<AgentExit>) => ({ seed, exec_time_ms: performance.now() - started, ...exit });
  if (body.command !== undefined) return done(await runProcess(["sh", "-c", body.command], body, response));
  if (body.commands !== undefined) {
    const parts: NonNullable<AgentExit["parts"]> = [];
    for (const argv of body.commands) {
      const part = await runProcess(argv, body, response);
      parts.push({ exit_code: part.exit_code, stdout_bytes: part.stdout_bytes, stderr_bytes: part.stderr_bytes });
      if (part.exit_code !== 0) return done({ exit_code: part.exit_code, parts });
    }
    return done({ exit_code: 0, parts });
  }
  return body.code === undefined ? done({ exit_code: 0 }) : done(await runProcess(["python3", "-c", body.code], body, response));
}

interface Ended {
  exit_code: number;
  signal: number;
  timed_out: boolean;
  truncated: boolean;
  stdout_bytes: number;
  stderr_bytes: number;
}

async function runProcess(argv: readonly string[], body: ExecRequest, response: ServerResponse): Promise<Ended> {
  const [program = "", ...rest] = argv;
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const ended: Ended = { exit_code: 0, signal: 0, timed_out: false, truncated: false, stdout_bytes: 0, stderr_bytes: 0 };
  const relay = (t: "o" | "e", field: "stdout_bytes" | "stderr_bytes") => (chunk: Buffer) => {
    const kept = chunk.subarray(0, EXEC_OUTPUT_MAX - ended[field]);
    ended.truncated ||= kept.length < chunk.length;
    ended[field] += kept.length;
    for (let at = 0; at < kept.length; at += AGENT_CHUNK_MAX)
      send(response, { t, d: kept.subarray(at, at + AGENT_CHUNK_MAX).toString("base64") });
  };
  child.stdout.on("data", relay("o", "stdout_bytes"));
  child.stderr.on("data", relay("e", "stderr_bytes"));
  const timer = setTimeout(
    () => {
      ended.timed_out = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    },
    (body.timeout_seconds ?? 30) * 1_000,
  );
  const code = await new Promise<number>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("close", (exitCode) => resolve(exitCode ?? 137));
  });
  clearTimeout(timer);
  return { ...ended, exit_code: ended.timed_out ? -1 : code };
}
