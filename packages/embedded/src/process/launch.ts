// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Account } from "../account.ts";
import { identify } from "./identity.ts";
import type { ProcessIdentity } from "./identity.ts";
import { openLog } from "./log.ts";

export interface LaunchSpec {
  /** Shown in messages. */
  name: string;
  argv: readonly [string, ...string[]];
  cwd: string;
  /** The whole environment of the process: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Standard output and standard error go to the end of this file. */
  log: string;
  /** Run as this account (we must be root). */
  account?: Account | undefined;
  /**
   * "with-parent": the kernel sends `deathSignal` when our process dies, however it dies.
   * "detached": it lives on; the caller keeps its identity on disk.
   */
  lifetime: "with-parent" | "detached";
  deathSignal?: NodeJS.Signals;
}

export interface Launched extends ProcessIdentity {
  /** Resolves when the process ends, to words for a message ("exit code 1", "SIGKILL"). Never rejects. */
  exited: Promise<string>;
}

/** Starts a background process in a session of its own, so that a terminal's Ctrl-C reaches us first. */
export async function launch(spec: LaunchSpec): Promise<Launched> {
  const [program, ...args] = wrapped(spec);
  const log = await openLog(spec.log);
  try {
    const child = spawn(program, args, {
      cwd: spec.cwd,
      env: { ...spec.env },
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    const exited = new Promise<string>((resolve) => {
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    await once(child, "spawn"); // rejects with the reason when the program cannot be started
    if (spec.lifetime === "detached") child.unref();
    const identity = child.pid === undefined ? undefined : await identify(child.pid);
    if (identity === undefined) throw new Error(`${spec.name} ended at once: ${await exited} (log: ${spec.log})`);
    return { ...identity, exited };
  } finally {
    await log.close();
  }
}

/**
 * Closes all but the standard streams, then becomes the program. Node has descriptors open that it does not close at exec
 * (OpenSSL's on /dev/urandom is one), and a file from outside in a process that is to be checkpointed makes that impossible.
 */
const CLOSE_INHERITED = 'for fd in /proc/self/fd/*; do fd=${fd##*/}; if ((fd > 2)); then exec {fd}>&-; fi; done; exec "$@"';

/** setpriv(1) changes what must change and then becomes the program, so that the pid stays the one we got. */
function wrapped(spec: LaunchSpec): [string, ...string[]] {
  const options: string[] = [];
  if (spec.account !== undefined) {
    options.push("--reuid", String(spec.account.uid), "--regid", String(spec.account.gid), "--clear-groups", "--no-new-privs");
  }
  // Set after the ids: the kernel forgets a death signal when credentials change (prctl(2)).
  if (spec.lifetime === "with-parent") options.push("--pdeathsig", (spec.deathSignal ?? "SIGTERM").replace(/^SIG/, ""));
  const closing = ["/bin/bash", "-c", CLOSE_INHERITED, spec.name, ...spec.argv] as const;
  return options.length === 0 ? [...closing] : ["/usr/bin/setpriv", ...options, "--", ...closing];
}
