// SPDX-License-Identifier: Apache-2.0
/** A bare engine with one template on it, and the verbs that the benchmarks time. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startBareEngine, type BareEngine } from "@collimate/agent/bare-engine";
import { type ExecRequest, newId, type NodeJobOf, type NodeResult } from "@collimate/contracts";
import { z } from "zod";
import { CpuAccount } from "../measure/cpu-account.ts";
import { memoryOf, type ProcessMemory } from "../measure/process-memory.ts";
import { ANSWER, type Subject } from "../subject.ts";

const manifestSchema = z.object({ imageDigest: z.string() });

export const RESOURCES = { vcpus: 2, memory_mib: 2048, disk_mib: 4096, pids: 256 };

export interface LaboratoryOptions {
  readonly subject: Subject;
  readonly image: string;
  readonly insecureRegistries: readonly string[];
  readonly state: string;
  readonly tools: string;
  readonly width: number;
  /** Once it fires nothing new is begun: what runs comes to its end, and the benchmark ends what it has made. */
  readonly signal: AbortSignal;
}

export type Forked = Extract<NodeResult, { kind: "fork" }>;

export class Laboratory implements AsyncDisposable {
  readonly bare: BareEngine;
  readonly cpu: CpuAccount;
  readonly subject: Subject;
  readonly #snapshotId: string;
  readonly #templateId: string;
  readonly #signal: AbortSignal;

  private constructor(bare: BareEngine, cpu: CpuAccount, subject: Subject, snapshotId: string, templateId: string, signal: AbortSignal) {
    this.bare = bare;
    this.cpu = cpu;
    this.subject = subject;
    this.#snapshotId = snapshotId;
    this.#templateId = templateId;
    this.#signal = signal;
  }

  /** Starts the engine and bakes the subject, working set included. */
  static async open(options: LaboratoryOptions): Promise<Laboratory> {
    // By its state folder: after a run that was killed the next one there finds what is left, and ends it.
    const nodeId = `node_bench${createHash("sha256").update(options.state).digest("hex").slice(0, 12)}`;
    const cpu = await CpuAccount.open(nodeId);
    await using undo = new AsyncDisposableStack();
    undo.use(cpu);
    const { state, tools, insecureRegistries, width } = options;
    const bare = undo.use(await startBareEngine({ nodeId, state, tools, insecureRegistries, slotsReady: width + 2 }));
    const [snapshotId, templateId] = [newId("snapshot"), newId("template")];
    const ready = { cmd: `python -c '${options.subject.build}'` };
    await bare.engine.bake(
      { kind: "bake", ...job(), templateId, snapshotId, image: options.image, ready, resources: RESOURCES, width },
      async () => {},
    );
    undo.move();
    return new Laboratory(bare, cpu, options.subject, snapshotId, templateId, options.signal);
  }

  /** For what is measured without the engine. */
  throwIfInterrupted(): void {
    this.#signal.throwIfAborted();
  }

  /** The subject's image, as the engine has unpacked it. */
  async imageRoot(): Promise<string> {
    const { paths } = this.bare;
    const manifest = await readFile(join(paths.snapshots, this.#snapshotId, "manifest.json"), "utf8");
    const { imageDigest } = manifestSchema.parse(JSON.parse(manifest));
    return join(paths.rootfs, imageDigest.replace(":", "-"), "rootfs");
  }

  async create(): Promise<string> {
    this.#signal.throwIfAborted();
    const sandboxId = newId("sandbox");
    await this.bare.engine.create({
      kind: "create",
      ...job(),
      templateId: this.#templateId,
      snapshotId: this.#snapshotId,
      child: { sandboxId, seed: null },
      resources: RESOURCES,
      egress: null,
    });
    return sandboxId;
  }

  async fork(parentId: string, width: number): Promise<Forked> {
    this.#signal.throwIfAborted();
    const children = Array.from({ length: width }, () => ({ sandboxId: newId("sandbox"), seed: null }));
    const forked = await this.bare.engine.fork({
      kind: "fork",
      ...job(),
      parentId,
      templateId: this.#templateId,
      children,
      resources: RESOURCES,
      egress: null,
    });
    if (forked.kind !== "fork") throw new Error(`a fork answered as ${forked.kind}`);
    return forked;
  }

  async suspend(sandboxId: string): Promise<string> {
    const snapshotId = newId("snapshot");
    await this.bare.engine.suspend({ kind: "suspend", ...job(), sandboxId, snapshotId });
    return snapshotId;
  }

  async resume(sandboxId: string, snapshotId: string): Promise<void> {
    await this.bare.engine.resume({ kind: "resume", ...job(), sandboxId, snapshotId, resources: RESOURCES });
  }

  async remove(sandboxIds: readonly string[]): Promise<void> {
    await this.bare.engine.delete({ kind: "delete", ...job(), sandboxIds: [...sandboxIds] });
  }

  /** Runs a cell or a command that must succeed. */
  async run(sandboxId: string, request: ExecRequest): Promise<string> {
    this.#signal.throwIfAborted();
    const said = await this.bare.run(sandboxId, request);
    if (said.exitCode !== 0) throw new Error(`exit code ${said.exitCode} in ${sandboxId}: ${said.stderr.slice(-2_000)}`);
    return said.stdout;
  }

  /** The small cell that shows that a sandbox has the subject's state. */
  async ask(sandboxId: string): Promise<void> {
    const said = await this.run(sandboxId, { code: this.subject.ask });
    if (said !== ANSWER) throw new Error(`${sandboxId} has another state: ${JSON.stringify(said.slice(0, 200))}`);
  }

  async memory(sandboxId: string): Promise<ProcessMemory> {
    return memoryOf(await this.bare.engine.registry.live(sandboxId).slot.group.processes());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bare.engine.dropTemplate({ kind: "drop_template", ...job(), templateId: this.#templateId, snapshotIds: [this.#snapshotId] });
    await this.bare[Symbol.asyncDispose]();
    await this.cpu[Symbol.asyncDispose]();
  }
}

function job(): Pick<NodeJobOf<"delete">, "operationId" | "tenantId" | "attempt"> {
  return { operationId: newId("operation"), tenantId: newId("tenant"), attempt: 0 };
}
