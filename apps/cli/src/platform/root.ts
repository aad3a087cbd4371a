// SPDX-License-Identifier: Apache-2.0
import { Complaint } from "../complaint.ts";

export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0) {
    throw new Complaint(`collimate ${command} needs root: it makes namespaces, mounts and cgroups`, {
      hint: "Run it as root or through sudo.",
    });
  }
}
