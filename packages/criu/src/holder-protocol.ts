// SPDX-License-Identifier: Apache-2.0
import { createConnection, type Socket } from "node:net";
import { z } from "zod";
import { CriuError } from "./error.ts";
import { meaningfulLines } from "./log.ts";

/** The border to the holder: its socket protocol, see packages/criu-holder/README.md. */

const REPLY_BYTES = 65_536;
/** The holder ends a request itself at its deadline; this much later it is taken for dead. */
const GRACE_MS = 5000;

const pid = z.number().int().positive();
const memory = {
  pid,
  generation: z.number().int().nonnegative(),
  tasks: z.number().int().nonnegative(),
  regions: z.number().int().nonnegative(),
  held_bytes: z.number().nonnegative(),
  populated_bytes: z.number().nonnegative(),
};

export const failed = z.object({ ok: z.literal(false), error: z.string(), log: z.string() });
export const namespaceReady = z.object({ ns: pid });
export const restored = z.object({ ok: z.literal(true), pid, ms: z.number(), fork_ms: z.number() });
export const derived = z.object({ ok: z.literal(true), ...memory, ms: z.number(), fork_ms: z.number() });
export const stat = z.object({ ok: z.literal(true), ...memory, in_flight: z.number().int().nonnegative() });
export const kept = z.object({ kept: z.literal(true) });
export const done = z.object({ ok: z.literal(true) });
export const ready = z.object({ ready: z.literal(true), ...memory, load_ms: z.number() });

export type Field = readonly [key: string, value: string | number];

function encode(fields: readonly Field[]): string {
  const lines = fields.map(([key, value]) => {
    const text = String(value);
    if (/[\n\0]/.test(text)) throw new CriuError("protocol", `${key} holds a line end or a zero byte`);
    return `${key}=${text}\n`;
  });
  return `${lines.join("")}\n`;
}

async function* lines(socket: Socket): AsyncGenerator<string> {
  let buffer = "";
  for await (const chunk of socket) {
    buffer += chunk;
    if (buffer.length > REPLY_BYTES) throw new CriuError("protocol", "the holder's answer is too long");
    for (let end = buffer.indexOf("\n"); end >= 0; end = buffer.indexOf("\n")) {
      yield buffer.slice(0, end);
      buffer = buffer.slice(end + 1);
    }
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new CriuError("protocol", "the holder's answer is not JSON", { cause });
  }
}

export interface Exchange<Reply> {
  readonly socket: string;
  readonly fields: readonly Field[];
  readonly reply: z.ZodType<Reply>;
  /** What was asked for, for messages. */
  readonly purpose: string;
  readonly limitMs: number;
  /** Whether the answer must be taken before the holder lets the new processes live. */
  readonly keep: boolean;
  readonly onNamespace?: (pid: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** One request. When this fails or is aborted, the holder ends what it had begun. */
export async function exchange<Reply>(request: Exchange<Reply>): Promise<Reply> {
  const text = encode(request.fields);
  const socket = createConnection(request.socket);
  socket.setEncoding("utf8");
  let stopped: CriuError | undefined;
  const stop = (error: CriuError) => {
    stopped ??= error;
    socket.destroy(stopped);
  };
  const late = `the holder did not answer within ${request.limitMs} ms: ${request.purpose}`;
  const timer = setTimeout(() => stop(new CriuError("timeout", late)), request.limitMs + GRACE_MS);
  const onAbort = () => stop(new CriuError("aborted", `aborted: ${request.purpose}`));
  if (request.signal?.aborted) onAbort();
  request.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    socket.write(text);
    return await converse(socket, request);
  } catch (error) {
    throw stopped ?? asThrown(error, request.purpose);
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener("abort", onAbort);
    socket.destroy();
  }
}

async function converse<Reply>(socket: Socket, request: Exchange<Reply>): Promise<Reply> {
  let answer: { readonly value: Reply } | { readonly error: CriuError } | undefined;
  let settled = !request.keep;
  let turn: Promise<void> | undefined;
  try {
    for await (const line of lines(socket)) {
      const message = parseLine(line);
      const namespace = namespaceReady.safeParse(message);
      if (answer === undefined && turn === undefined && namespace.success) {
        // Not awaited here: the holder may have something to say meanwhile, that the deadline has passed.
        turn = takeTurn(socket, request, namespace.data.ns, () => answer === undefined);
        turn.catch(() => socket.destroy());
      } else if (answer === undefined) {
        answer = parseAnswer(message, request);
        if (request.keep && "value" in answer) socket.write("keep\n");
      } else if (!settled && kept.safeParse(message).success) {
        settled = true;
      } else {
        throw new CriuError("protocol", "the holder has said more than its answer");
      }
    }
  } finally {
    // What the caller's own part has thrown goes first: the rest follows from it.
    await turn;
  }
  // Only now, when the process that has served us is gone, is nothing of it left in the new tree's cgroups.
  if (answer !== undefined && "error" in answer) throw answer.error;
  if (answer !== undefined && settled) return answer.value;
  throw new CriuError("holder-gone", `the holder broke off: could not ${request.purpose}`);
}

/** An error of the caller's, on its way out untouched. */
class CallerError extends Error {}

async function takeTurn<Reply>(socket: Socket, request: Exchange<Reply>, namespace: number, isAwaited: () => boolean): Promise<void> {
  try {
    await request.onNamespace?.(namespace);
  } catch (cause) {
    throw new CallerError("onNamespace", { cause });
  }
  if (isAwaited() && socket.writable) socket.write("go\n");
}

function parseAnswer<Reply>(message: unknown, request: Exchange<Reply>): { value: Reply } | { error: CriuError } {
  const no = failed.safeParse(message);
  if (no.success) {
    const code = no.data.error === "the deadline has passed" ? "timeout" : "failed";
    const log = meaningfulLines(no.data.log);
    return { error: new CriuError(code, `could not ${request.purpose}: ${no.data.error}`, { log }) };
  }
  const yes = request.reply.safeParse(message);
  if (yes.success) return { value: yes.data };
  throw new CriuError("protocol", "the holder's answer has another form", { cause: yes.error });
}

/** What the socket throws becomes a `CriuError`; what the caller's own part has thrown stays as it is. */
function asThrown(error: unknown, purpose: string): unknown {
  if (error instanceof CallerError) return error.cause;
  if (error instanceof CriuError || !(error instanceof Error && "syscall" in error)) return error;
  return new CriuError("holder-gone", `no connection to the holder: could not ${purpose}`, { cause: error });
}
