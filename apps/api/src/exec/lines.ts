// SPDX-License-Identifier: Apache-2.0
/** Newline-delimited JSON from a stream of chunks, with a bound on a line. */
import { AGENT_LINE_MAX, agentLineSchema } from "@collimate/contracts";
import type { AgentLine } from "@collimate/contracts";

const NEWLINE = 0x0a;

export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<AgentLine> {
  let parts: Buffer[] = [];
  let waiting = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      const line = parts.length === 1 ? parts[0] : Buffer.concat(parts);
      parts = [];
      waiting = 0;
      from = end + 1;
      if (line && line.length > 0) yield parseLine(line);
    }
    if (from < chunk.length) {
      parts.push(chunk.subarray(from));
      waiting += chunk.length - from;
      if (waiting > AGENT_LINE_MAX) throw new Error(`a line of more than ${AGENT_LINE_MAX} bytes`);
    }
  }
  if (waiting > 0) throw new Error("the last line is not complete");
}

function parseLine(line: Buffer): AgentLine {
  const text = line.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`a line that is not JSON: ${text.slice(0, 80)}`, { cause });
  }
  const parsed = agentLineSchema.safeParse(value);
  if (!parsed.success) throw new Error(`a line of no known kind: ${text.slice(0, 80)}`, { cause: parsed.error });
  return parsed.data;
}
