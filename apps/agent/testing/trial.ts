// SPDX-License-Identifier: Apache-2.0
/** By hand: bake, create, exec, fork on a bare engine, no queues. unshare --mount --propagation private node testing/trial.ts IMAGE */
import { readFile } from "node:fs/promises";
import { newId } from "@collimate/contracts";
import { createLogger } from "@collimate/telemetry";
import { readConfig } from "../src/config.ts";
import { mountMemoryFolder } from "../src/memory-mount.ts";
import { startNode } from "../src/node.ts";
import { makePaths } from "../src/paths.ts";
import { execInSandbox } from "../src/sandbox/exec.ts";

const [image = "", width = "8", ready = "python -c 'import numpy'", prefix = "x=1"] = process.argv.slice(2);
const state = process.env["TRIAL_STATE"] ?? "/work/scratch/main/state";
const config = readConfig({ NODE_ID: "node_trial", REDIS_URL: "none", AGENT_SECRET: "x".repeat(40), AGENT_STATE: state, COLLIMATE_TOOLS: "/work/scratch/main/tools", REGISTRY_INSECURE_HOSTS: process.env["REG"] ?? "", ...process.env });
const log = createLogger({ service: "trial", level: "warn" });
const paths = await makePaths(state);
await mountMemoryFolder(paths.memory);
const node = await startNode(config, paths, log);
const t = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  const begun = performance.now();
  try {
    return await work();
  } finally {
    console.log(`${what}: ${(performance.now() - begun).toFixed(1)} ms`);
  }
};
const base = { tenantId: newId("tenant"), attempt: 0 };
const resources = { vcpus: 2, memory_mib: 4096, disk_mib: 10240, pids: 512 };
const run = async (id: string, body: Parameters<typeof execInSandbox>[1]) => {
  let out = "";
  const end = await execInSandbox(node.engine.registry.live(id), body, { stdout: (c) => (out += c), stderr: (c) => (out += c) }, new AbortController().signal);
  return `${end.exit_code} ${JSON.stringify(out.slice(0, 600))}`;
};
async function privateKib(pids: number[]): Promise<number> {
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "")));
  return texts.reduce((sum, text) => sum + Number(/^Private_Dirty:\s+(\d+)/m.exec(text)?.[1] ?? 0), 0);
}
try {
  const templateId = newId("template");
  const snapshotId = newId("snapshot");
  console.log(await t("bake", () => node.engine.bake({ kind: "bake", ...base, operationId: newId("operation"), templateId, snapshotId, image, ready: { cmd: ready }, resources, width: 8 }, async (phase) => console.log(phase))));
  const parent = newId("sandbox");
  console.log(await t("create", () => node.engine.create({ kind: "create", ...base, operationId: newId("operation"), templateId, snapshotId, child: { sandboxId: parent, seed: null }, resources, egress: null })));
  console.log(await t("exec", () => run(parent, { command: "echo hi; id; cat /proc/self/cgroup; hostname" })));
  for (let i = 0; i < 3; i++) console.log(await t("exec", () => run(parent, { command: "true" })));
  console.log(await t("prefix", () => run(parent, { code: prefix, timeout_seconds: 120 })));
  for (let round = 0; round < 3; round++) {
    const children = Array.from({ length: Number(width) }, () => ({ sandboxId: newId("sandbox"), seed: null }));
    const forked = await t(`fork ${width}`, () => node.engine.fork({ kind: "fork", ...base, operationId: newId("operation"), parentId: parent, templateId, children, resources, egress: null }));
    if (forked.kind === "fork") console.log({ pause: forked.pauseMs, fork: forked.forkTimeMs });
    console.log("private KiB at birth:", await privateKib(await node.engine.registry.live(children[0]?.sandboxId ?? "").slot.group.processes()));
    const answers = await t("all answer", () => Promise.all(children.map((c, i) => run(c.sandboxId, { code: `print(x, ${i})`, ...(process.env["SEED"] ? { seed: "ab".repeat(32) } : {}) }))));
    console.log(answers.slice(0, 2), new Set(answers.map((a) => a[0])));
    const private_ = await Promise.all(children.map(async (c) => privateKib(await node.engine.registry.live(c.sandboxId).slot.group.processes())));
    console.log("private KiB per child:", Math.min(...private_), Math.max(...private_));
    console.log(await t("delete", () => node.engine.delete({ kind: "delete", ...base, operationId: newId("operation"), sandboxIds: children.map((c) => c.sandboxId) })).then((r) => r.kind));
  }
  console.log(await t("parent goes on", () => run(parent, { code: "print(x)" })));
} catch (error) {
  console.error(error);
} finally {
  await t("stop", () => node.stop());
}
process.exit(0);
