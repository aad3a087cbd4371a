// SPDX-License-Identifier: Apache-2.0
/**
 * Takes a snapshot of a live sandbox: memory and files of one instant. The tree is frozen; criu writes the processes
 * while the writable layer is copied beside it; then it is thawed (fork) or ended (bake, suspend).
 */
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { CriuError, type CriuProgram, dump, type DumpResult, type TreeOptions } from "@collimate/criu";
import type { HostFacts, Manifest } from "@collimate/snapshot";
import { prepareProgram } from "../program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { copyGivenNames } from "./given-names.ts";
import { explainRefusal } from "./refusal.ts";
import type { Snapshot, SnapshotStore } from "./store.ts";

const PAGE = 4096;
const DUMP_LIMIT_MS = 120_000;
const COPY_LIMIT_MS = 120_000;

export interface TakeRequest {
  readonly id: string;
  readonly kind: Manifest["kind"];
  readonly sandbox: Sandbox;
  /** The snapshot whose holder's memory the sandbox still shares: what is equal there is left out of the images. */
  readonly base: Snapshot | undefined;
  readonly leaveRunning: boolean;
}

export interface Taken {
  readonly snapshot: Snapshot;
  /** `kind` is "delta" when the images hold only what differs from the base holder. */
  readonly dump: DumpResult;
}

/** What every dump and restore of ours agrees on: a network namespace made anew, connections that lead out of the sandbox closed in children. */
export const TREE: TreeOptions = { emptyNetwork: true, tcp: "close" };

export class SnapshotTaker {
  readonly #criu: CriuProgram;
  readonly #host: HostFacts;
  readonly #store: SnapshotStore;

  constructor(criu: CriuProgram, host: HostFacts, store: SnapshotStore) {
    this.#criu = criu;
    this.#host = host;
    this.#store = store;
  }

  async take(request: TakeRequest): Promise<Taken> {
    const { sandbox, id, kind } = request;
    const place = await this.#store.begin(id, kind);
    try {
      const upper = join(sandbox.folder, "upper");
      await using layer = prepareProgram(copyOf(upper, place.upper), { timeoutMs: DUMP_LIMIT_MS + COPY_LIMIT_MS });
      let copied: Promise<void> | undefined;
      const dumped = await dump({
        program: this.#criu,
        tree: TREE,
        pid: sandbox.process.pid,
        images: place.images,
        leaveRunning: request.leaveRunning,
        cgroup: sandbox.slot.group.freezeDirectory(),
        onFrozen: () =>
          (copied = layer.go().then((copy) => {
            if (!copy.ok) throw new Error(`the writable layer could not be copied: ${copy.said}`);
          })),
        onDumped: async () => {
          await copied;
          await copyGivenNames(place.images, upper, place.upper, `/proc/${sandbox.process.pid}/root`);
        },
        limitMs: DUMP_LIMIT_MS,
        // Whoever deletes the sandbox need not wait until criu gives up on processes that are dying under its hands.
        signal: sandbox.links.closed,
        ...(request.base ? { delta: { parentImages: request.base.images } } : {}),
      });
      const snapshot = await this.#store.commit({
        format: 2,
        id,
        kind,
        templateId: sandbox.templateId,
        image: sandbox.image,
        imageDigest: sandbox.imageDigest,
        guest: sandbox.guest,
        base: dumped.kind === "delta" ? (request.base?.manifest.id ?? null) : null,
        layers: [id, ...sandbox.layers],
        workdir: sandbox.workdir,
        user: sandbox.user,
        ports: [...sandbox.ports],
        network: sandbox.cable !== undefined,
        resources: sandbox.resources,
        privateBytes: dumped.pagesWritten * PAGE,
        ...this.#host,
        createdAt: new Date().toISOString(),
      });
      return { snapshot, dump: dumped };
    } catch (error) {
      await this.#store.abandon(id);
      if (!(error instanceof CriuError)) throw error;
      const why = (await explainRefusal(error.log)) ?? error.message;
      throw new CollimateError("not_captureable", `sandbox ${sandbox.id} cannot be checkpointed: ${why}`, {
        cause: error,
        detail: error.log.join("\n"),
      });
    }
  }
}

/** Copies a writable layer with owners, modes, times, links, device nodes and extended attributes; shares blocks where the file system can. */
function copyOf(from: string, to: string): [string, ...string[]] {
  return ["cp", "-a", "--reflink=auto", "--no-target-directory", from, to];
}
