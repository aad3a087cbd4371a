// SPDX-License-Identifier: Apache-2.0

/** How to run criu on this machine; mostly the outcome of {@link probe}. */
export interface CriuProgram {
  /** Path of a criu with the holder linked in. */
  readonly path: string;
  /**
   * Cure the parasite without hardware breakpoints (criu's fault 130). Needed
   * where they never fire, as in some virtual machines: criu would hang.
   */
  readonly withoutBreakpoints: boolean;
  /** 0 to 4. Below 1 criu says nothing when it fails; 4 costs some ms. Default 1. */
  readonly logLevel?: number;
}

/** What dump and restore of one tree must agree on. */
export interface TreeOptions {
  /** Give the restored tree an empty network namespace of its own (`--empty-ns net`). */
  readonly emptyNetwork: boolean;
  /** Established TCP connections: restored into repair mode ("keep") or closed in the restored tree ("close"). */
  readonly tcp?: "keep" | "close";
  /** Resources that come from outside, as criu's `--external` takes them. */
  readonly external?: readonly string[];
  /** Largest deleted-but-open file that goes into the images, in MiB. Default 512. */
  readonly ghostLimitMiB?: number;
}

/**
 * criu caches what it has found out about the kernel here; it is compiled into
 * our build, on tmpfs (elsewhere every start costs 75 ms more), and must exist.
 */
export const RUN_DIRECTORY = "/dev/shm/collimate-criu";

export function programEnvironment(program: CriuProgram): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin",
    LC_ALL: "C",
    ...(program.withoutBreakpoints ? { CRIU_FAULT: "130" } : {}),
  };
}

export function commonFlags(program: CriuProgram, tree: TreeOptions): string[] {
  return [
    `-v${program.logLevel ?? 1}`,
    "--manage-cgroups=ignore",
    "--network-lock",
    "skip",
    // Size only: the files of a snapshot are frozen layers, reading them all would take the time.
    "--file-validation",
    "filesize",
    "--file-locks",
    "--link-remap",
    "--ghost-limit",
    `${tree.ghostLimitMiB ?? 512}M`,
    ...(tree.emptyNetwork ? ["--empty-ns", "net"] : []),
    ...(tree.external ?? []).flatMap((resource) => ["--external", resource]),
  ];
}
