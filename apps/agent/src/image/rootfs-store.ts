// SPDX-License-Identifier: Apache-2.0
/** Unpacked images, by digest: each is unpacked once, never changed, and shared by all sandboxes as the lowest layer. */
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CollimateError } from "@collimate/contracts";
import { runProgram } from "../program.ts";
import { type ImageConfig, imageConfigSchema, type PullOptions, pullImage } from "./pull.ts";
import { parseReference } from "./reference.ts";

const UNPACK_LIMIT_MS = 20 * 60_000;
/** The program that filled it may be on its way out, just now. */
const SWEEP = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };

export interface Rootfs {
  readonly digest: string;
  readonly path: string;
  readonly config: ImageConfig;
}

export class RootfsStore {
  readonly #folder: string;
  readonly #pull: PullOptions;
  readonly #unpacking = new Map<string, Promise<Rootfs>>();
  /** Each was read once: a fork asks for the same one with every child. */
  readonly #present = new Map<string, Rootfs>();

  constructor(folder: string, pull: PullOptions) {
    this.#folder = folder;
    this.#pull = pull;
  }

  /** The rootfs of an image; two who ask for the same at once share the work. */
  async ensure(image: string): Promise<Rootfs> {
    const { digest } = parseReference(image);
    const present = digest ? await this.find(digest) : undefined;
    if (present) return present;
    const running = this.#unpacking.get(image);
    if (running) return running;
    const work = this.#fetch(image).finally(() => this.#unpacking.delete(image));
    this.#unpacking.set(image, work);
    return work;
  }

  async find(digest: string): Promise<Rootfs | undefined> {
    const known = this.#present.get(digest);
    if (known) return known;
    const folder = join(this.#folder, digest.replace(":", "-"));
    const text = await readFile(join(folder, "config.json"), "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const rootfs = { digest, path: join(folder, "rootfs"), config: imageConfigSchema.parse(JSON.parse(text)) };
    this.#present.set(digest, rootfs);
    return rootfs;
  }

  /** Removes what an interrupted unpacking left. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (name.startsWith("unpack-")) await rm(join(this.#folder, name), SWEEP);
    }
    for (const name of await readdir(this.#pull.layouts)) await rm(join(this.#pull.layouts, name), SWEEP);
  }

  async #fetch(image: string): Promise<Rootfs> {
    const pulled = await pullImage(image, this.#pull);
    try {
      const present = await this.find(pulled.digest);
      if (present) return present;
      const folder = await mkdtemp(join(this.#folder, "unpack-"));
      try {
        const unpack = await runProgram(["umoci", "raw", "unpack", "--image", `${pulled.layout}:image`, join(folder, "rootfs")], {
          timeoutMs: UNPACK_LIMIT_MS,
        });
        if (!unpack.ok) throw new CollimateError("bake_failed", `image ${image}: its layers cannot be unpacked`, { detail: unpack.said });
        await writeFile(join(folder, "config.json"), JSON.stringify(pulled.config));
        const target = join(this.#folder, pulled.digest.replace(":", "-"));
        await rename(folder, target).catch(async (error: unknown) => {
          // Another image reference with the same digest was quicker.
          if (!(await stat(join(target, "config.json")).catch(() => undefined))) throw error;
        });
        return { digest: pulled.digest, path: join(target, "rootfs"), config: pulled.config };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    } finally {
      await pulled.dispose();
    }
  }
}
