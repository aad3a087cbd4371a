// SPDX-License-Identifier: Apache-2.0

/** What one check of the host found. */
export interface Finding {
  name: string;
  /** "fail": this machine cannot fork. "warn": it can, but something will be slow or short. */
  status: "ok" | "warn" | "fail";
  detail: string;
  /** What to do about it. */
  remedy?: string;
}

export type Check = () => Promise<Finding | Finding[]>;

export function ok(name: string, detail: string): Finding {
  return { name, status: "ok", detail };
}

export function warn(name: string, detail: string, remedy: string): Finding {
  return { name, status: "warn", detail, remedy };
}

export function fail(name: string, detail: string, remedy: string): Finding {
  return { name, status: "fail", detail, remedy };
}
