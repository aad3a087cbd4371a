// SPDX-License-Identifier: Apache-2.0
/**
 * Ready(cmd="python -c 'import torch'") is meant to leave torch imported. Run as a process of its own it would be
 * forgotten at once, so a command that is nothing but `python -c CODE` is given to the persistent interpreter instead,
 * where what it imports is there for every later cell and every child.
 */
import { parse } from "shell-quote";

export type ReadyCommand = { readonly kind: "code"; readonly code: string } | { readonly kind: "shell"; readonly command: string };

const PYTHON = /^(?:\/usr(?:\/local)?\/bin\/)?python3?$/;

export function readReadyCommand(command: string): ReadyCommand {
  // A variable stays visible as `$NAME`: then only a shell can run it.
  const words = parse(command, (name) => ({ op: `$${name}` }));
  const [program, flag, code] = words;
  const plain = words.length === 3 && typeof program === "string" && PYTHON.test(program) && flag === "-c" && typeof code === "string";
  return plain ? { kind: "code", code } : { kind: "shell", command };
}
