// SPDX-License-Identifier: Apache-2.0
/** `podman container checkpoint` of the running subject, and `podman container restore` of copies, with podman and runc as Debian has them (its crun is built without criu). */
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { probe } from "@collimate/criu";
import type { Laboratory } from "../../engine/laboratory.ts";
import { memoryOf } from "../../measure/process-memory.ts";
import { median, type Samples } from "../../measure/samples.ts";
import type { BenchOptions } from "../../options.ts";
import { askProgram, programOf, untilReady, writeLittle } from "./program.ts";

const run = promisify(execFile);

/** Each copy has the whole memory to itself, in memory and on the disk: as many as any machine has room for. */
export const PODMAN_COPIES = 4;
const LIMIT_MS = 300_000;
const CGROUPS = "/sys/fs/cgroup";

export async function measurePodman(laboratory: Laboratory, options: BenchOptions, into: Samples): Promise<void> {
  await installPodman();
  await using podman = await Podman.open(laboratory, options);
  await podman.run("pull", "--quiet", ...(options["insecure-registry"].length > 0 ? ["--tls-verify=false"] : []), options.image);
  for (let run = 0; run < options.runs; run++) {
    laboratory.throwIfInterrupted();
    await oneRun(laboratory, podman, options.image, into);
  }
}

async function oneRun(laboratory: Laboratory, podman: Podman, image: string, into: Samples): Promise<void> {
  const { cpu, subject } = laboratory;
  const checkpoint = join(podman.place, "checkpoint.tar");
  try {
    const container = ["--name=subject", "--network=none", "--ulimit=host", `--cgroup-parent=/${podman.group}`, image];
    await podman.run("run", "--detach", ...container, "python3", "-c", programOf(subject));
    const parent = await podman.pidOf("subject");
    await untilReady(parent);
    await writeLittle(parent);
    const taken = await cpu.of(() =>
      podman.run("container", "checkpoint", "--leave-running", "--compress=none", `--export=${checkpoint}`, "subject"),
    );
    const names = Array.from({ length: PODMAN_COPIES }, (_, at) => `copy${at}`);
    const restored = await cpu.of(async () => {
      for (const name of names) await podman.run("container", "restore", `--import=${checkpoint}`, `--name=${name}`);
    });
    const pids = await Promise.all(names.map((name) => podman.pidOf(name)));
    const born = await Promise.all(pids.map((pid) => memoryOf([pid])));
    await Promise.all(pids.map(askProgram));
    into.add("ms", {
      "podman container checkpoint, wall": taken.wallMs,
      "podman container checkpoint, cpu": taken.cpuMs,
      "podman container restore, wall per copy": restored.wallMs / PODMAN_COPIES,
      "podman container restore, cpu per copy": restored.cpuMs / PODMAN_COPIES,
    });
    into.add("MiB", { "podman container restore, private per copy": median(born.map(({ privateMiB }) => privateMiB)) });
  } finally {
    await podman.run("rm", "--force", "--time=0", "--all");
    await rm(checkpoint, { force: true });
  }
}

async function installPodman(): Promise<void> {
  const there = await Promise.allSettled(["podman", "runc"].map((program) => run(program, ["--version"], { timeout: LIMIT_MS })));
  if (there.every(({ status }) => status === "fulfilled")) return;
  const install = join(import.meta.dirname, "../../../infra/host/setup/packages.sh");
  await run("/bin/bash", [install, "podman", "runc"], { timeout: LIMIT_MS, maxBuffer: 2 ** 24 });
}

/** A podman whose images and containers nobody else has, and which ends with all of them. */
class Podman implements AsyncDisposable {
  readonly place: string;
  readonly group: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(place: string, group: string, env: NodeJS.ProcessEnv) {
    this.place = place;
    this.group = group;
    this.#env = env;
  }

  static async open(laboratory: Laboratory, { state, tools }: BenchOptions): Promise<Podman> {
    const group = `collimate-bench-podman-${process.pid}`;
    const criu = join(tools, "criu", "criu");
    const probed = await probe({ path: criu });
    if (!probed.works) throw new Error(`criu does not work here: ${probed.reason}`);
    const place = await mkdtemp(join(dirname(state), "podman-"));
    await mkdir(join(place, "bin"));
    // The distribution's criu refuses newer kernels. podman, conmon and runc all look for one on their PATH, and not all pass the environment on.
    const fault = probed.program.withoutBreakpoints ? "CRIU_FAULT=130 " : "";
    await writeFile(join(place, "bin", "criu"), `#!/bin/sh\n${fault}exec '${criu}' "$@"\n`);
    await chmod(join(place, "bin", "criu"), 0o755);
    const path = `${join(place, "bin")}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
    const settings = join(place, "containers.conf");
    // Podman's own limits would be wider than the host's, which takes a capability that root of a guest need not have.
    await writeFile(settings, `[containers]\ndefault_ulimits = []\n[engine]\nconmon_env_vars = [${JSON.stringify(`PATH=${path}`)}]\n`);
    laboratory.cpu.include(group);
    return new Podman(place, group, { PATH: path, HOME: place, CONTAINERS_CONF: settings });
  }

  async run(...args: readonly string[]): Promise<string> {
    const own = [
      `--root=${join(this.place, "root")}`,
      `--runroot=${join(this.place, "run")}`,
      `--tmpdir=${join(this.place, "tmp")}`,
      "--cgroup-manager=cgroupfs",
      "--events-backend=none",
      "--runtime=runc",
    ];
    const { stdout } = await run("podman", [...own, ...args], { env: this.#env, timeout: LIMIT_MS, maxBuffer: 2 ** 24 });
    return stdout.trim();
  }

  async pidOf(name: string): Promise<number> {
    return Number(await this.run("container", "inspect", "--format={{.State.Pid}}", name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("umount", ["--lazy", join(this.place, "root", "overlay")], { timeout: LIMIT_MS }).catch(() => undefined); // never mounted
    await rm(this.place, { recursive: true, force: true });
    // Once for every controller of version 1; for version 2 the group lies in the folder itself.
    for (const name of await readdir(CGROUPS)) await removeGroups(join(CGROUPS, name, this.group));
    await removeGroups(join(CGROUPS, this.group));
  }
}

async function removeGroups(group: string): Promise<void> {
  const inner = await readdir(group, { withFileTypes: true }).catch(() => undefined);
  if (inner === undefined) return;
  for (const entry of inner) if (entry.isDirectory()) await removeGroups(join(group, entry.name));
  await rmdir(group);
}
