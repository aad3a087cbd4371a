// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { readReadyCommand } from "./ready-command.ts";

describe("a ready command", () => {
  it("that is python -c goes to the interpreter, so that its imports stay", () => {
    expect(readReadyCommand("python -c 'import torch'")).toEqual({ kind: "code", code: "import torch" });
    expect(readReadyCommand('/usr/bin/python3 -c "import numpy; print(1)"')).toEqual({ kind: "code", code: "import numpy; print(1)" });
  });
  it.each([
    "python -c 'import a' && touch /x",
    "python -c \"print('$HOME')\"",
    "python script.py",
    "true",
    "FOO=1 python -c 'x'",
    "python -c 'a' b",
    "python -c",
  ])("that needs a shell goes to a shell: %s", (command) => {
    expect(readReadyCommand(command)).toEqual({ kind: "shell", command });
  });
});
