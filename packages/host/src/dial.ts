// SPDX-License-Identifier: Apache-2.0
import { connect, type Socket } from "node:net";

import { HostError } from "./errors.ts";
import { dialAnswer, type ProcessRef } from "./operations.ts";

/** Where to connect inside: an abstract unix socket by name, or a TCP port (of 127.0.0.1 unless told otherwise). */
export type DialTarget = { abstract: string } | { tcp: number; host?: string };

const ANSWER_MAX_BYTES = 4096;
/** hostd gives the connection inside 5 s; this is for a daemon that does not answer at all. */
const ANSWER_DEADLINE_MS = 8_000;

/**
 * A stream to a listener in the network namespace of a sandbox's process. Half-closes are passed on both ways.
 *
 * When the stream has ENDED (its `close` event after both ends are over), the socket inside is closed, too: a
 * checkpoint may be taken. Destroying the stream closes the one inside soon after.
 */
export async function dial(
  socketPath: string,
  process: ProcessRef,
  target: DialTarget,
  options: { signal?: AbortSignal } = {},
): Promise<Socket> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  const signals = [AbortSignal.timeout(ANSWER_DEADLINE_MS), ...(options.signal ? [options.signal] : [])];
  try {
    const request = { dial: { pid: process.pid, start_time: process.startTime, ...target } };
    socket.write(`${JSON.stringify(request)}\n`);
    await accepted(socket, AbortSignal.any(signals));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Waits for the answer line and leaves the stream behind it as it came. */
async function accepted(socket: Socket, signal: AbortSignal): Promise<void> {
  const line = await firstLine(socket, signal);
  const answer = dialAnswer.safeParse(parseJson(line));
  if (!answer.success) throw new HostError("dial", "system", "collimate-hostd's answer is not understood");
  if (answer.data.ok) return;
  const { code, error, errno } = answer.data;
  throw new HostError("dial", code, error, errno || undefined);
}

function firstLine(socket: Socket, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const settle = (outcome: () => void) => {
      socket.off("readable", onReadable).off("end", onEnd).off("error", onError);
      signal.removeEventListener("abort", onAbort);
      outcome();
    };
    const onReadable = () => {
      for (let chunk = nextChunk(socket); chunk !== null; chunk = nextChunk(socket)) {
        read = Buffer.concat([read, chunk]);
        const end = read.indexOf(10);
        if (end === -1 && read.length <= ANSWER_MAX_BYTES) continue;
        settle(() => {
          if (end === -1) return reject(new HostError("dial", "system", "the answer is too long"));
          if (read.length > end + 1) socket.unshift(read.subarray(end + 1));
          resolve(read.toString("utf8", 0, end));
        });
        return;
      }
    };
    const onEnd = () => settle(() => reject(new HostError("dial", "lost", "collimate-hostd hung up")));
    const onError = (cause: Error) => settle(() => reject(new HostError("dial", "lost", "no collimate-hostd answers", undefined, cause)));
    const onAbort = () =>
      settle(() => reject(new HostError("dial", "deadline", "no answer in time, or given up", undefined, signal.reason)));
    socket.on("readable", onReadable).on("end", onEnd).on("error", onError);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}

/** A socket without an encoding reads Buffers; Node's types say `any`. */
function nextChunk(socket: Socket): Buffer | null {
  const chunk: unknown = socket.read();
  return Buffer.isBuffer(chunk) ? chunk : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
