// SPDX-License-Identifier: Apache-2.0
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { Cgroup, CgroupLimits } from "./cgroup.ts";
import { CgroupError, errnoOf, writeControl } from "./control-file.ts";
import { makeDirectory, removeDirectory } from "./directory.ts";
import { detectCgroups, type CgroupLayout, type Controller } from "./layout.ts";
import { CgroupV1, makeParentV1 } from "./v1.ts";
import { CgroupV2 } from "./v2.ts";

export interface CgroupsOptions {
  /** Names this agent's part of the tree: `collimate/<node>/<sandbox>`. */
  node: string;
  /** Detected when not given. */
  layout?: CgroupLayout;
  /** Use the cpuset controller, too (limits with `cpus` need it). */
  cpuset?: boolean;
}

const ROOT = "collimate";
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The control groups of one node's sandboxes. All that exist are below `collimate/<node>`, so strays are found by name. */
export class Cgroups {
  readonly layout: CgroupLayout;
  readonly #parents: ReadonlyMap<Controller, string>; // v1: by controller
  readonly #parent: string; // where names are listed

  private constructor(layout: CgroupLayout, parents: ReadonlyMap<Controller, string>, parent: string) {
    this.layout = layout;
    this.#parents = parents;
    this.#parent = parent;
  }

  static async open(options: CgroupsOptions): Promise<Cgroups> {
    const layout = options.layout ?? (await detectCgroups());
    const node = checkedName(options.node);
    if (layout.version === 2) {
      const wanted = ["memory", "pids", "cpu", ...(options.cpuset ? ["cpuset"] : [])];
      return new Cgroups(layout, new Map(), await openV2(layout.mount, node, wanted));
    }
    const used = [...layout.mounts].filter(([controller]) => controller !== "cpuset" || options.cpuset);
    const parents = new Map<Controller, string>();
    for (const [controller, mount] of used) {
      await makeParentV1(controller, join(mount, ROOT));
      await makeParentV1(controller, join(mount, ROOT, node));
      parents.set(controller, join(mount, ROOT, node));
    }
    const freezer = parents.get("freezer");
    if (!freezer) throw new CgroupError("this host has no freezer controller");
    return new Cgroups(layout, parents, freezer);
  }

  /** Makes a sandbox's group; one of that name that exists already is limited anew. After a failure none is left. */
  async create(name: string, limits: CgroupLimits): Promise<Cgroup> {
    const group = this.#handle(name);
    try {
      await group.make();
      await group.limit(limits);
    } catch (error) {
      await group.remove().catch(() => {}); // the first failure is the one to tell
      throw error;
    }
    return group;
  }

  /** A handle on a group that may or may not exist. */
  get(name: string): Cgroup {
    return this.#handle(name);
  }

  /** The sandboxes' groups that exist, for reconciling after a crash. */
  async list(): Promise<string[]> {
    const entries = await readdir(this.#parent, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  }

  /** Removes the node's own directories. Every sandbox's group must be gone. */
  async close(): Promise<void> {
    const nodes = this.layout.version === 2 ? [this.#parent] : [...new Set(this.#parents.values())];
    for (const directory of nodes) {
      await removeDirectory(directory);
      // The root stays while another node's directory is in it.
      await removeDirectoryIfEmpty(join(directory, ".."));
    }
  }

  #handle(name: string): CgroupV1 | CgroupV2 {
    checkedName(name);
    return this.layout.version === 2 ? new CgroupV2(this.#parent, name) : CgroupV1.at(this.#parents, name);
  }
}

async function openV2(mount: string, node: string, wanted: string[]): Promise<string> {
  let at = mount;
  for (const part of [ROOT, node]) {
    await enable(at, wanted);
    at = join(at, part);
    await makeDirectory(at);
  }
  await enable(at, wanted);
  return at;
}

async function enable(directory: string, wanted: string[]): Promise<void> {
  try {
    await writeControl(join(directory, "cgroup.subtree_control"), wanted.map((name) => `+${name}`).join(" "));
  } catch (cause) {
    const busy = cause instanceof CgroupError && errnoOf(cause.cause) === "EBUSY";
    // "No internal processes": in a container, its own processes must be moved to a leaf first.
    throw new CgroupError(
      `controllers ${wanted.join(", ")} cannot be passed on below ${directory}${busy ? ": processes live in it" : ""}`,
      { cause },
    );
  }
}

async function removeDirectoryIfEmpty(path: string): Promise<void> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    if (!entries.some((entry) => entry.isDirectory())) await removeDirectory(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

function checkedName(name: string): string {
  if (!plainName.test(name)) throw new CgroupError(`"${name}" cannot be the name of a control group`);
  return name;
}
