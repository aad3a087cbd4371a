// SPDX-License-Identifier: Apache-2.0
/** The benchmarks' command line. `collimate bench` fills in where things are. */
import { parseArgs } from "node:util";
import { z } from "zod";
import { subjectName } from "./subject.ts";

const count = (atMost: number) => z.coerce.number().int().min(1).max(atMost);

const optionsSchema = z.object({
  bench: z.enum(["fork", "create", "exec", "suspend", "chain"]),
  subject: subjectName.default("numpy"),
  /** OCI reference, by digest, of the subject's image. */
  image: z.string().min(1),
  /** host:port of a registry that speaks plain http. */
  "insecure-registry": z.array(z.string()).default([]),
  width: count(1024).default(64),
  runs: count(1000).default(5),
  /** Links of `chain`: forks in a row, and generations. */
  depth: count(1000).default(20),
  /** Of `fork`: the engine alone, or a platform that runs, by its SDK. */
  through: z.enum(["engine", "sdk"]).default("engine"),
  /** The Python in which the SDK is installed. */
  python: z.string().default("python3"),
  state: z.string().startsWith("/"),
  tools: z.string().startsWith("/"),
});
export type BenchOptions = z.infer<typeof optionsSchema>;

export function readOptions(argv: readonly string[]): BenchOptions {
  const text = { type: "string" } as const;
  const { positionals, values } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      subject: text,
      image: text,
      "insecure-registry": { type: "string", multiple: true },
      width: text,
      runs: text,
      depth: text,
      through: text,
      python: text,
      state: text,
      tools: text,
    },
  });
  const parsed = optionsSchema.safeParse({ bench: positionals[0], ...values });
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("\n"));
}
