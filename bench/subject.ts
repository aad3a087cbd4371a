// SPDX-License-Identifier: Apache-2.0
/** What is forked: init and a Python interpreter with a library imported and a working set of 200 MB touched. */
import { z } from "zod";

export const subjectName = z.enum(["numpy", "torch"]);
export type SubjectName = z.infer<typeof subjectName>;

export interface Subject {
  readonly name: SubjectName;
  /** Catalog image that has what it imports. */
  readonly image: string;
  /** Builds the state that the template is baked with, and a cold start builds from nothing. */
  readonly build: string;
  /** Writes 1 MiB, spread over nothing but itself. */
  readonly writeLittle: string;
  /** Writes all 200 MB. */
  readonly writeAll: string;
  /** A small cell that needs the inherited state, and what it prints after either write or none. */
  readonly ask: string;
}

const WORDS = 200 * 2 ** 17; // 8 bytes each
const LITTLE = 2 ** 17;

const SUBJECTS: Record<SubjectName, Subject> = {
  numpy: subject("numpy", "python", `numpy.arange(${WORDS})`),
  torch: subject("torch", "pytorch-cpu", `torch.arange(${WORDS})`),
};

function subject(name: SubjectName, image: string, array: string): Subject {
  return {
    name,
    image,
    build: `import ${name}; W = ${array}`,
    writeLittle: `W[:${LITTLE}] += 1`,
    writeAll: "W += 1",
    ask: "print(len(W))",
  };
}

export const ANSWER = `${WORDS}\n`;

export const subjectOf = (name: SubjectName): Subject => SUBJECTS[name];
