// SPDX-License-Identifier: Apache-2.0
/** Builds what the engine needs (nothing to do when it is there), starts it, and stops it after the last test. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestProject } from "vitest/node";
import { repository, run } from "./programs.ts";
import { stageImage } from "./image.ts";
import { STAGED } from "./images.ts";
import { OPENED, SERVER, startOutside } from "./outside.ts";

const START_LIMIT_MS = 120_000;

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env["COLLIMATE_TOOLS"];
  const tools = given ?? "/var/cache/collimate";
  // Whoever names a folder has built what is in it.
  for (const [part, folder] of [
    ["criu-holder", "criu"],
    ["guest", "guest"],
    ["host", "host"],
  ] as const) {
    if (given === undefined) await run(join(repository, "packages", part, "build.sh"), [join(tools, folder)]);
  }
  // Beside the layouts, on a disk: unpacking takes longer than the tests.
  const state = join(tools, "truth");
  const images = [];
  for (const name of STAGED) {
    const layout = (await run(join(repository, "infra/images/build.sh"), [name, join(tools, "images")])).trim();
    images.push({ name, ...(await stageImage(layout, join(state, "rootfs"))) });
  }

  const folder = await mkdtemp(join(tmpdir(), "collimate-truth-"));
  const socket = join(folder, "engine.sock");
  const engine = spawn(
    "unshare",
    [
      "--net",
      "--mount",
      "--propagation",
      "private",
      // criu, where it has no notes of this kernel yet, makes a connection over loopback to learn about it.
      "sh",
      "-c",
      'ip link set lo up && exec "$@"',
      "sh",
      process.execPath,
      join(import.meta.dirname, "serve.ts"),
      socket,
      ...images.map(({ name, reference }) => `${name}=${reference}`),
    ],
    {
      env: {
        ...process.env,
        COLLIMATE_TOOLS: tools,
        AGENT_STATE: state,
        NODE_ID: `node_truth${process.pid}`,
        AGENT_NETWORK_OPEN: OPENED + "/32",
        AGENT_NETWORK_RESOLVER: SERVER,
      },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const ended = once(engine, "exit");
  const ready: Promise<IteratorResult<string, undefined>> = createInterface(engine.stdout)[Symbol.asyncIterator]().next();
  const first = await Promise.race([
    ready,
    ended.then(() => undefined),
    new Promise<undefined>((resolve) => setTimeout(resolve, START_LIMIT_MS, undefined).unref()),
  ]);
  const stop = async (): Promise<void> => {
    engine.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  if (first === undefined || first.done === true) {
    engine.kill("SIGTERM");
    await stop();
    throw new Error("the engine did not start; its reasons stand above");
  }
  const outside = await startOutside(engine.pid ?? 0, images[0]?.rootfs ?? "").catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  provide("engineSocket", socket);
  provide("enginePid", engine.pid ?? 0);
  provide("outsidePid", outside.pid);
  return async () => {
    await stop();
    await outside[Symbol.asyncDispose]();
  };
}
