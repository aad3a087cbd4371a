// SPDX-License-Identifier: Apache-2.0
import { EXEC_TIMEOUT_DEFAULT_S, EXEC_TIMEOUT_MAX_S } from "@collimate/contracts";
import type { ExecRequest } from "@collimate/contracts";
import { Complaint } from "../complaint.ts";
import { InvalidArgumentError } from "commander";

export interface ProgramFlags {
  code?: string;
  timeout: number;
}

export const DEFAULT_TIMEOUT = EXEC_TIMEOUT_DEFAULT_S;

/** What to run, from a command line: `--code TEXT` in the template's interpreter, or a program and its arguments. */
export function programOf(words: readonly string[], flags: ProgramFlags): ExecRequest {
  const timeout_seconds = flags.timeout;
  if (flags.code !== undefined && words.length === 0) return { code: flags.code, timeout_seconds };
  if (flags.code === undefined && words.length > 0) return { commands: [[...words]], timeout_seconds };
  throw new Complaint("give either --code TEXT or a program after --", {
    hint: "For example: collimate exec python -- python3 -V",
    exitCode: 2,
  });
}

export function timeoutSeconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= EXEC_TIMEOUT_MAX_S)) throw new InvalidArgumentError(`seconds, up to ${EXEC_TIMEOUT_MAX_S}`);
  return value;
}
