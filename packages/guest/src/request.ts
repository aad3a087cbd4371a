// SPDX-License-Identifier: Apache-2.0
import { encodeFrame } from "./frame.ts";
import { GuestError } from "./errors.ts";
import { FRAME_PAYLOAD_MAX, Frame, Operation, PROTOCOL_VERSION, REQUEST_MAX, Tag } from "./protocol.ts";
import { FieldWriter } from "./tlv.ts";

/** What every exec may say, whatever it runs. */
export interface ExecSettings {
  /** Name to attach to later: 1 to 64 of `[A-Za-z0-9_.-]`, unique among what runs. Init makes one when missing. */
  id?: string;
  /** Added to, or in place of, the variables the sandbox was started with. */
  env?: Record<string, string>;
  cwd?: string;
  /** Time limit in ms, from the request on (for code: the wait for an earlier cell included). 0 or missing: none. */
  timeoutMs?: number;
  /** End the whole process tree when the connection goes away without a detach. */
  killOnDisconnect?: boolean;
  /** 32 bytes that fix what the interpreter's generators draw from here on. */
  seed?: Uint8Array;
}

/** A program or a shell text, run as a new process. */
export interface CommandRequest extends ExecSettings {
  /** Program and arguments; the program is looked up in PATH. */
  argv?: readonly string[];
  /** Text for `/bin/sh -c`. */
  shell?: string;
  /** `name`, `uid`, `name:group` or `uid:gid` of the sandbox's own files. Missing: root. */
  user?: string;
  /** Missing: the command reads end-of-file. */
  stdin?: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Code for a persistent interpreter (python), or for a new process of another one (node, bash, sh, ruby, perl). */
export interface CodeRequest extends ExecSettings {
  code: string | Uint8Array;
  language?: string;
  /**
   * After the code has run, set what is there aside for good: the interpreter's garbage collector and its search for
   * random generators pass it by from then on, so that sandboxes restored later never write to that memory.
   */
  settle?: boolean;
}

export type ExecRequest = CommandRequest | CodeRequest;

function begin(operation: number): FieldWriter {
  return new FieldWriter().u32(Tag.version, PROTOCOL_VERSION).u8(Tag.operation, operation);
}

function addSettings(fields: FieldWriter, request: ExecSettings): void {
  if (request.id !== undefined) fields.text(Tag.execId, request.id);
  for (const [name, value] of Object.entries(request.env ?? {})) fields.text(Tag.env, `${name}=${value}`);
  if (request.cwd !== undefined) fields.text(Tag.cwd, request.cwd);
  if (request.timeoutMs) fields.u32(Tag.timeoutMs, Math.ceil(request.timeoutMs));
  if (request.killOnDisconnect) fields.u8(Tag.killOnDisconnect, 1);
  if (request.seed) fields.bytes(Tag.seed, request.seed);
}

export function execFields(request: ExecRequest): Buffer {
  if ("code" in request) {
    const fields = begin(Operation.code);
    addSettings(fields, request);
    if (request.language !== undefined) fields.text(Tag.language, request.language);
    if (request.settle) fields.u8(Tag.settle, 1);
    return fields.bytes(Tag.code, Buffer.from(request.code)).finish();
  }
  const fields = begin(Operation.exec);
  addSettings(fields, request);
  for (const argument of request.argv ?? []) fields.text(Tag.argv, argument);
  if (request.shell !== undefined) fields.text(Tag.shell, request.shell);
  if (request.user !== undefined) fields.text(Tag.user, request.user);
  if (request.stdin) fields.u8(Tag.stdin, 1);
  return fields.finish();
}

export function attachFields(id: string): Buffer {
  return begin(Operation.attach).text(Tag.execId, id).finish();
}

export function putFields(path: string, mode?: number): Buffer {
  const fields = begin(Operation.put).text(Tag.path, path);
  if (mode !== undefined) fields.u32(Tag.mode, mode);
  return fields.finish();
}

export function getFields(path: string): Buffer {
  return begin(Operation.get).text(Tag.path, path).finish();
}

/** What a sandbox is told after each restore. */
export interface GuestIdentity {
  hostname: string;
  sandboxId: string;
  /** Grows with each restore of this line of sandboxes; a new one makes the interpreters reseed. */
  generation: number;
  /** 32 fresh random bytes. */
  entropy: Uint8Array;
}

export function identityFields(identity: GuestIdentity): Buffer {
  return begin(Operation.identity)
    .text(Tag.hostname, identity.hostname)
    .text(Tag.sandboxId, identity.sandboxId)
    .u32(Tag.generation, identity.generation)
    .bytes(Tag.entropy, identity.entropy)
    .finish();
}

export function quiesceFields(waitMs: number): Buffer {
  return begin(Operation.quiesce).u32(Tag.waitMs, waitMs).finish();
}

export function pingFields(): Buffer {
  return begin(Operation.ping).finish();
}

/** Request fields as frames; a long request takes several. */
export function requestFrames(fields: Buffer): Buffer[] {
  if (fields.length > REQUEST_MAX) {
    throw new GuestError("too_large", `The request has ${fields.length} bytes; at most ${REQUEST_MAX} are taken. Put large data as files`);
  }
  const frames: Buffer[] = [];
  let at = 0;
  for (; fields.length - at > FRAME_PAYLOAD_MAX; at += FRAME_PAYLOAD_MAX) {
    frames.push(encodeFrame(Frame.requestPart, fields.subarray(at, at + FRAME_PAYLOAD_MAX)));
  }
  frames.push(encodeFrame(Frame.request, fields.subarray(at)));
  return frames;
}
