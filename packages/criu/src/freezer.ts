// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CriuError } from "./error.ts";

/** Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst and cgroup-v2.rst ("Core Interface Files"). */
interface Interface {
  readonly control: string;
  readonly freeze: string;
  readonly thaw: string;
  readonly state: string;
  isFrozen(state: string): boolean;
}

const V1: Interface = {
  control: "freezer.state",
  freeze: "FROZEN",
  thaw: "THAWED",
  state: "freezer.state",
  isFrozen: (state) => state.trim() === "FROZEN",
};

const V2: Interface = {
  control: "cgroup.freeze",
  freeze: "1",
  thaw: "0",
  state: "cgroup.events",
  isFrozen: (state) => /^frozen 1$/m.test(state),
};

function interfaceOf(cgroup: string): Interface {
  const found = [V1, V2].find((candidate) => existsSync(join(cgroup, candidate.control)));
  if (found === undefined) throw new CriuError("freezer", `${cgroup} is not a cgroup that can be frozen`);
  return found;
}

export interface FrozenCgroup extends Disposable {
  /** Safe to call twice. */
  thaw(): void;
}

/**
 * Stops all processes of a cgroup (v1 freezer or v2). On failure they run on.
 * These few bytes are read and written at once: a turn of the event loop would be time in which they stand still.
 *
 * @param cgroup its directory
 * @param limitMs how long it may take until all stand still
 */
export async function freeze(cgroup: string, limitMs = 5000): Promise<FrozenCgroup> {
  const files = interfaceOf(cgroup);
  let thawed = false;
  const thaw = () => {
    if (thawed) return;
    try {
      writeFileSync(join(cgroup, files.control), files.thaw);
    } catch (cause) {
      throw new CriuError("freezer", `can't thaw ${cgroup}`, { cause });
    }
    thawed = true;
  };
  try {
    writeFileSync(join(cgroup, files.control), files.freeze);
    const until = performance.now() + limitMs;
    for (let pause = 0; !files.isFrozen(readFileSync(join(cgroup, files.state), "utf8")); pause = 1) {
      if (performance.now() > until) throw new Error(`not frozen within ${limitMs} ms`);
      // Neither version has an event that works on both; it is frozen at the first look as a rule.
      await delay(pause);
      // v1 stays FREEZING when a process was just being born; another write makes it look again.
      if (files === V1) writeFileSync(join(cgroup, files.control), files.freeze);
    }
  } catch (cause) {
    thaw();
    throw new CriuError("freezer", `can't freeze ${cgroup}`, { cause });
  }
  return { thaw, [Symbol.dispose]: thaw };
}
