// SPDX-License-Identifier: Apache-2.0
/** Before all tests: one registry with one image, one agent, one baked template. After all: nothing of them may be left. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startStack } from "@collimate/embedded";
import type { TestProject } from "vitest/node";
import { AgentProcess, type NodeFacts } from "./agent-process.ts";
import { remains } from "./leftovers.ts";
import { type Baked, Platform } from "./platform.ts";

declare module "vitest" {
  interface ProvidedContext {
    node: NodeFacts;
    registry: string;
    template: Baked;
  }
}

const PUSH = join(import.meta.dirname, "..", "..", "..", "..", "infra", "images", "push.sh");
/** The image is built by the first test run of a machine. */
const PUSH_LIMIT_MS = 600_000;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) throw new Error("these tests checkpoint processes and make mounts: run them as root");
  await using undo = new AsyncDisposableStack();
  const stack = undo.use(await startStack("redis", "registry"));
  const pushed = await promisify(execFile)(PUSH, ["python", stack.registry.host], { timeout: PUSH_LIMIT_MS });
  const image = pushed.stdout.trim();
  const agent = undo.use(
    await AgentProcess.start({ nodeId: `node_test_${process.pid}`, redisUrl: stack.redis.url, registry: stack.registry.host, image }),
  );
  const template = await bakeShared(agent.facts);
  project.provide("node", agent.facts);
  project.provide("registry", stack.registry.host);
  project.provide("template", template);
  const resources = undo.move();
  return async () => {
    const code = await agent.stop();
    const left = await remains(agent.facts);
    const log = await agent.log();
    await resources.disposeAsync();
    const clean = code === 0 && left.groups.length === 0 && left.processes === 0 && left.mounts.length === 0;
    if (!clean) throw new Error(`the agent ended with ${code} and left ${JSON.stringify(left)}\n${log.slice(-4_000)}`);
  };
}

async function bakeShared(facts: NodeFacts): Promise<Baked> {
  await using platform = new Platform(facts);
  return await platform.bake({ cmd: "python3 -c 'import json, hashlib'" });
}
