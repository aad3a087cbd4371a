// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { POLITE_STOP, readRecord, startService } from "@collimate/embedded";
import { expect, test } from "vitest";
import { temporaryState } from "../../test/temporary-state.ts";
import { readEndpoints, writeEndpoint } from "../state/endpoints.ts";
import { recordPath } from "../state/paths.ts";
import type { StatePaths } from "../state/paths.ts";
import type { Part } from "./part.ts";
import { choosePort } from "./port.ts";
import { serves } from "./probe.ts";
import { startParts, stopParts } from "./start.ts";

const OPTIONS = { host: "127.0.0.1", port: undefined };

/** A real process that serves HTTP, or one that does what the given program says instead. */
function part(name: string, program = 'http.createServer((_, reply) => reply.end("ok")).listen(port, "127.0.0.1");'): Part {
  return {
    name,
    stopSteps: POLITE_STOP,
    probe: ({ url }) => serves(url),
    async start({ paths, endpoints }) {
      const port = await choosePort([endpoints[name]?.port]);
      const url = `http://127.0.0.1:${port}/`;
      const source = `import http from "node:http"; const port = ${port}; ${program}`;
      const spec = { argv: [process.execPath, "--input-type=module", "--eval", source] as const, cwd: "/", env: {} };
      const plan = {
        name,
        url,
        port,
        spec: { ...spec, argv: [...spec.argv] as [string, ...string[]] },
        stopSteps: POLITE_STOP,
        probe: () => serves(url),
      };
      return startService(plan, {
        dir: paths.root,
        lifetime: "detached",
        record: recordPath(paths, name),
        log: join(paths.logs, `${name}.log`),
        deadlineMs: 10_000,
      });
    },
  };
}

async function living(paths: StatePaths, ...names: string[]): Promise<string[]> {
  const found = await Promise.all(names.map(async (name) => ((await readRecord(recordPath(paths, name))) === undefined ? [] : [name])));
  return found.flat();
}

test("parts are started once: a second call finds them and starts nothing", async () => {
  await using state = await temporaryState();
  const parts = [part("one"), part("two")];
  try {
    expect(await startParts(parts, state.paths, OPTIONS)).toEqual(["one", "two"]);
    const before = await readRecord(recordPath(state.paths, "one"));
    expect(await startParts(parts, state.paths, OPTIONS)).toEqual([]);
    expect(await readRecord(recordPath(state.paths, "one"))).toEqual(before);
  } finally {
    expect(await stopParts(parts.toReversed(), state.paths)).toEqual(["two", "one"]);
  }
  expect(await living(state.paths, "one", "two")).toEqual([]);
});

test("when a part dies while starting, those before it are stopped again and its log is shown", async () => {
  await using state = await temporaryState();
  const parts = [part("good"), part("bad", 'console.error("the cause"); process.exit(3);')];
  await expect(startParts(parts, state.paths, OPTIONS)).rejects.toThrow(/bad did not start[^]*exit code 3[^]*the cause/);
  expect(await living(state.paths, "good", "bad")).toEqual([]);
});

test("a failed start leaves those alone that ran before it", async () => {
  await using state = await temporaryState();
  const good = part("good");
  try {
    await startParts([good], state.paths, OPTIONS);
    await expect(startParts([good, part("bad", "process.exit(1);")], state.paths, OPTIONS)).rejects.toThrow(/bad did not start/);
    expect(await living(state.paths, "good", "bad")).toEqual(["good"]);
  } finally {
    await stopParts([good], state.paths);
  }
});

test("a part that died, or lives but does not answer, is started anew on its old port", async () => {
  await using state = await temporaryState();
  const parts = [part("one"), part("deaf")];
  try {
    await startParts(parts, state.paths, OPTIONS);
    const endpoints = await readFile(state.paths.endpoints, "utf8");
    const [one, deaf] = await Promise.all(["one", "deaf"].map((name) => readRecord(recordPath(state.paths, name))));
    process.kill(one?.pid ?? 0, "SIGKILL");
    process.kill(deaf?.pid ?? 0, "SIGSTOP");
    expect(await startParts(parts, state.paths, OPTIONS)).toEqual(["one", "deaf"]);
    expect(await readFile(state.paths.endpoints, "utf8")).toBe(endpoints);
  } finally {
    await stopParts(parts, state.paths);
  }
});

test("a part that lives, but on whose port another program answers, is started anew on another", async () => {
  await using state = await temporaryState();
  const one = part("one");
  const other = createServer((_, reply) => reply.end("ok"));
  try {
    await startParts([one], state.paths, OPTIONS);
    const { url, port } = (await readEndpoints(state.paths))["one"] ?? { url: "", port: 0 };
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const taken = typeof address === "object" && address !== null ? address.port : 0;
    await writeEndpoint(state.paths, "one", { url: url.replace(`:${port}`, `:${taken}`), port: taken });
    expect(await startParts([one], state.paths, OPTIONS)).toEqual(["one"]);
    expect((await readEndpoints(state.paths))["one"]?.port).not.toBe(taken);
  } finally {
    other.close();
    await stopParts([one], state.paths);
  }
});

test("an interrupt in the middle of a start leaves nothing, not even the part that was just starting", async () => {
  await using state = await temporaryState();
  const interrupt = new AbortController();
  // It never serves: the interrupt comes while it is being waited for.
  const never = part("never", "setInterval(() => undefined, 1000);");
  const parts = [
    part("one"),
    {
      ...never,
      start: (context: Parameters<Part["start"]>[0]) => (
        setTimeout(() => interrupt.abort(new Error("stop it")), 200),
        never.start(context)
      ),
    },
  ];
  await expect(startParts(parts, state.paths, OPTIONS, undefined, interrupt.signal)).rejects.toThrow("stop it");
  expect(await living(state.paths, "one", "never")).toEqual([]);
});
