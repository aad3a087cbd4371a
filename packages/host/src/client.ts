// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { z } from "zod";

import type { DialTarget } from "./dial.ts";
import { HostError } from "./errors.ts";
import { LineBuffer } from "./lines.ts";
import {
  attachRequest,
  bootRequest,
  bootResult,
  createdResult,
  daemonLine,
  droppedResult,
  emptyResult,
  killResult,
  linkNames,
  listResult,
  networkRequest,
  networkResult,
  type NetworkRequest,
  overlayRequest,
  statResult,
  umountResult,
  watchKey,
  type AttachRequest,
  type BootRequest,
  type DaemonLine,
  type OverlayRequest,
  type ProcessRef,
} from "./operations.ts";

/** Longer than the daemon's own limit of any operation but `umount`: past it, the daemon itself is stuck. */
const ANSWER_DEADLINE_MS = 40_000;
const UMOUNT_DEADLINE_MS = 70_000;
const ANSWER_MAX_BYTES = 1 << 20;
const REQUEST_MAX_BYTES = 65_535;
const CONNECT_DEADLINE_MS = 5_000;

/** How a watch came to its end: the process died, it was stopped by us, or the daemon's connection was lost. */
export type Exit = "exited" | "stopped" | "lost";

export interface Watch {
  readonly key: string;
  /** Settles once, never rejects. */
  readonly ended: Promise<Exit>;
  stop(): Promise<void>;
}

export type HostReport = z.infer<typeof listResult>;
export type HostStat = z.infer<typeof statResult>;

interface Pending {
  operation: string;
  timer: NodeJS.Timeout;
  resolve: (answer: DaemonLine) => void;
  reject: (error: HostError) => void;
}

/**
 * A control connection to collimate-hostd. Requests may overlap; each has a deadline. When the connection is lost,
 * every open request fails with code `lost`, and what the daemon was still doing for it is undone there.
 */
export class HostClient implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #lines = new LineBuffer(ANSWER_MAX_BYTES);
  readonly #pending = new Map<number, Pending>();
  readonly #watches = new Map<string, (exit: Exit) => void>();
  /** Settles (never rejects) when the connection has ended, with the reason if it was not us. */
  readonly closed: Promise<HostError | undefined>;
  #end: (reason: HostError | undefined) => void = () => {};
  #nextId = 1;
  #over: HostError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => (this.#end = resolve));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#finish(new HostError("connection", "lost", error.message)));
    socket.on("close", () => this.#finish(new HostError("connection", "lost", "collimate-hostd hung up")));
  }

  static async connect(socketPath: string): Promise<HostClient> {
    const socket = connect(socketPath);
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_DEADLINE_MS) });
    } catch (cause) {
      socket.destroy();
      throw new HostError("connect", "lost", `no collimate-hostd answers at ${socketPath}`, undefined, cause);
    }
    const client = new HostClient(socket);
    await client.stat(); // the daemon waits for a first line only so long
    return client;
  }

  /** Makes the slot's user namespace: ids 0..count-1 inside are base..base+count-1 outside. Repeatable. */
  async createUserns(slot: number, base: number, count = 65_536): Promise<{ created: boolean }> {
    return this.#ask("userns.create", { slot, base, count }, createdResult);
  }

  async dropUserns(slot: number): Promise<{ dropped: boolean }> {
    return this.#ask("userns.drop", { slot }, droppedResult);
  }

  /** Mounts a sandbox's root. All layers hold in-namespace ids and are seen through the slot's idmap. */
  async mountOverlay(request: OverlayRequest): Promise<void> {
    const { nfsExport, redirectDir, ...rest } = overlayRequest.parse(request);
    await this.#ask("overlay.mount", { ...rest, nfs_export: nfsExport, redirect_dir: redirectDir }, emptyResult);
  }

  /** Repeatable: says whether anything was mounted there. Detached mounts go when their last user ends. */
  async umount(target: string, options: { detach?: boolean } = {}): Promise<{ wasMounted: boolean }> {
    const detach = options.detach ?? true;
    const result = await this.#ask("umount", { target, detach }, umountResult, UMOUNT_DEADLINE_MS);
    return { wasMounted: result.was_mounted };
  }

  /** Starts a sandbox's PID 1; resolves once its program runs. After a failure nothing is left of it. */
  async boot(request: BootRequest): Promise<ProcessRef> {
    const { env, ...rest } = bootRequest.parse(request);
    const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return this.#ask("boot", { ...rest, env: pairs }, bootResult);
  }

  /** Rejects with code `gone` when the process has ended already. Keys are unique on the daemon. */
  async watch(key: string, process: ProcessRef): Promise<Watch> {
    let settle: (exit: Exit) => void = () => {};
    const ended = new Promise<Exit>((resolve) => (settle = resolve));
    if (this.#watches.has(key)) throw new HostError("watch", "conflict", `key "${key}" is watched already`);
    // Before the answer: the event may come in the same chunk.
    this.#watches.set(key, settle);
    try {
      await this.#ask("watch", { key: watchKey.parse(key), pid: process.pid, start_time: process.startTime }, emptyResult);
    } catch (error) {
      this.#watches.delete(key);
      throw error;
    }
    return { key, ended, stop: () => this.#unwatch(key) };
  }

  /** SIGKILL; a pid namespace's PID 1 takes all of the sandbox along. False: it had ended already. */
  async kill(process: ProcessRef): Promise<boolean> {
    try {
      return (await this.#ask("kill", { pid: process.pid, start_time: process.startTime }, killResult)).sent;
    } catch (error) {
      if (error instanceof HostError && error.code === "gone") return false;
      throw error;
    }
  }

  /** In an existing sandbox's network namespace: loopback up with these addresses, non-local bind allowed. Repeatable. */
  async setUpNetwork(process: ProcessRef, addrs: readonly string[]): Promise<void> {
    await this.#ask("net.setup", { pid: process.pid, start_time: process.startTime, addrs }, emptyResult);
  }

  /**
   * Loads the host's rules for sandboxes with a network (repeatable; sandboxes that live on keep theirs) and switches
   * forwarding on for packets that come in by the uplink. Undo it with `finishNetwork` and the answer.
   */
  async initNetwork(request: NetworkRequest = {}): Promise<{ uplink: string; forwardingWas: boolean }> {
    const result = await this.#ask("net.init", networkRequest.parse(request), networkResult);
    return { uplink: result.uplink, forwardingWas: result.forwarding_was };
  }

  async finishNetwork(network: { uplink: string; forwardingWas: boolean }): Promise<void> {
    await this.#ask("net.fini", { uplink: network.uplink, forwarding: network.forwardingWas }, emptyResult);
  }

  /** Removes every cable on this host and the rules, whoever made them: for what an agent that was killed has left. */
  async sweepNetwork(): Promise<void> {
    await this.#ask("net.sweep", {}, emptyResult);
  }

  /** Gives a sandbox its eth0: out to the internet, not to private ranges, other sandboxes or this host. */
  async attachNetwork(process: ProcessRef, request: AttachRequest): Promise<void> {
    const fields = attachRequest.parse(request);
    await this.#ask("net.attach", { pid: process.pid, start_time: process.startTime, ...fields }, emptyResult);
  }

  /**
   * Repeatable. After the sandboxes have ended: forgets their addresses (each cable goes along with its sandbox). One call
   * takes some milliseconds, however many names it has.
   */
  async detachNetwork(names: readonly string[]): Promise<void> {
    await this.#ask("net.detach", { names: linkNames.parse(names) }, emptyResult);
  }

  /** Has a socket connected inside and sent over hostd's channel with this token: see `Hostd.dial`. */
  async dial(token: number, process: ProcessRef, target: DialTarget): Promise<void> {
    await this.#ask("dial", { token, pid: process.pid, start_time: process.startTime, ...target }, emptyResult);
  }

  /** Makes the kernel's random generator take a new key, and with it every program that draws through the vDSO. */
  async reseedKernel(): Promise<void> {
    await this.#ask("random.reseed", {}, emptyResult);
  }

  /** What the daemon holds, for leak checks. */
  async list(): Promise<HostReport> {
    return this.#ask("list", {}, listResult);
  }

  async stat(): Promise<HostStat> {
    return this.#ask("stat", {}, statResult);
  }

  close(): void {
    this.#finish(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.closed;
  }

  async #unwatch(key: string): Promise<void> {
    const settle = this.#watches.get(key);
    if (!settle) return;
    await this.#ask("unwatch", { key }, emptyResult);
    this.#watches.delete(key);
    settle("stopped");
  }

  async #ask<S extends z.ZodType>(
    operation: string,
    fields: Record<string, unknown>,
    result: S,
    deadlineMs = ANSWER_DEADLINE_MS,
  ): Promise<z.output<S>> {
    const answer = await this.#send(operation, fields, deadlineMs);
    const parsed = result.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new HostError(operation, "system", `collimate-hostd's answer is not understood: ${parsed.error.message}`);
  }

  #send(operation: string, fields: Record<string, unknown>, deadlineMs: number): Promise<DaemonLine> {
    if (this.#over) return Promise.reject(new HostError(operation, "lost", this.#over.message));
    const id = this.#nextId++;
    const line = `${JSON.stringify({ id, op: operation, ...fields })}\n`;
    if (Buffer.byteLength(line) > REQUEST_MAX_BYTES)
      return Promise.reject(new HostError(operation, "bad_request", `the request is over ${REQUEST_MAX_BYTES} bytes`));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // Hanging up makes the daemon undo what it is doing, if it is still able to do anything.
        this.#finish(new HostError(operation, "deadline", `no answer within ${deadlineMs} ms`));
      }, deadlineMs);
      this.#pending.set(id, { operation, timer, resolve, reject });
      this.#socket.write(line);
    });
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) this.#take(daemonLine.parse(JSON.parse(line)));
    } catch (cause) {
      this.#finish(new HostError("connection", "lost", "collimate-hostd sent what is not its protocol", undefined, cause));
    }
  }

  #take(line: DaemonLine): void {
    if ("event" in line && line.event === "exit") {
      const key = String(line.key);
      this.#watches.get(key)?.("exited");
      this.#watches.delete(key);
      return;
    }
    const pending = "id" in line ? this.#pending.get(line.id) : undefined;
    if (!pending || !("id" in line)) return;
    this.#pending.delete(line.id);
    clearTimeout(pending.timer);
    if (line.ok) pending.resolve(line);
    else pending.reject(new HostError(pending.operation, line.code, line.error, line.errno));
  }

  #finish(reason: HostError | undefined): void {
    if (this.#over) return;
    this.#over = reason ?? new HostError("connection", "lost", "the connection was closed");
    this.#socket.destroy();
    for (const { operation, timer, reject } of this.#pending.values()) {
      clearTimeout(timer);
      const code = reason?.code === "deadline" && reason.operation === operation ? "deadline" : "lost";
      reject(new HostError(operation, code, this.#over.message));
    }
    this.#pending.clear();
    for (const settle of this.#watches.values()) settle("lost");
    this.#watches.clear();
    this.#end(reason);
  }
}
