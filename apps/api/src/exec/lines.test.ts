// SPDX-License-Identifier: Apache-2.0
import { AGENT_LINE_MAX } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { readLines } from "./lines.ts";

async function* chunks(...parts: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}
async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}
const read = (...parts: (string | Buffer)[]) => collect(readLines(chunks(...parts)));

describe("lines of a stream", () => {
  it("are whole however they were cut", async () => {
    const text = '{"t":"o","d":"YQ=="}\n\n{"t":"k"}\n';
    for (let at = 0; at <= text.length; at++)
      expect(await read(text.slice(0, at), text.slice(at))).toEqual([{ t: "o", d: "YQ==" }, { t: "k" }]);
  });
  it.each([
    ["that are no JSON", "what\n", /not JSON: what/],
    ["of no known kind", '{"t":"z"}\n', /no known kind/],
    ["that stop in the middle", '{"t":"k"}\n{"t"', /not complete/],
  ])("%s are refused", async (_what, text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });
  it("without an end are given up before they fill the memory", async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) {
        sent += 65_536;
        yield Buffer.alloc(65_536, "a");
      }
    }
    await expect(collect(readLines(endless()))).rejects.toThrow(/more than/);
    expect(sent).toBeLessThan(AGENT_LINE_MAX + 2 * 65_536);
  });
});
