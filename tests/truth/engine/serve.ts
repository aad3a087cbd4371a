// SPDX-License-Identifier: Apache-2.0
/**
 * The agent's engine without queues, in a mount and a network namespace of its own: one node for a whole run, one template
 * for each image and way to be ready.
 *   unshare --net --mount --propagation private node engine/serve.ts SOCKET NAME=REFERENCE...
 * Writes one line when it is ready; stops when its standard input ends.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { json, text } from "node:stream/consumers";
import { newId, type Ready } from "@collimate/contracts";
import { createLogger } from "@collimate/telemetry";
import { readConfig } from "../../../apps/agent/src/config.ts";
import { mountMemoryFolder, requireOwnMountNamespace } from "../../../apps/agent/src/memory-mount.ts";
import { openPort } from "../../../apps/agent/src/network/port.ts";
import { startNode } from "../../../apps/agent/src/node.ts";
import { makePaths } from "../../../apps/agent/src/paths.ts";
import { execInSandbox } from "../../../apps/agent/src/sandbox/exec.ts";
import type { Image } from "./images.ts";
import { type Answer, type Ask, askSchema } from "./protocol.ts";

const [socket = "", ...images] = process.argv.slice(2);
const references = new Map(images.map((text) => text.split(/=(.*)/s, 2) as [string, string]));
/** What programs/ports.py listens on. */
const PORTS = [8080, 8081, 8082];
const RESOURCES = { vcpus: 2, memory_mib: 2_048, disk_mib: 4_096, pids: 512 };

interface Template {
  readonly templateId: string;
  readonly snapshotId: string;
}

await requireOwnMountNamespace();
const config = readConfig({ AGENT_SLOTS_READY: "16", REDIS_URL: "none", AGENT_SECRET: "-".repeat(32), ...process.env });
const paths = await makePaths(config.AGENT_STATE);
await mountMemoryFolder(paths.memory);
const node = await startNode(config, paths, createLogger({ service: "truth", level: process.env["TRUTH_LOG"] ?? "error" }));
const { engine } = node;

const common = { tenantId: newId("tenant"), attempt: 0 };
const operation = () => ({ ...common, operationId: newId("operation") });
const templates = new Map<string, Promise<Template>>();
const child = () => ({ sandboxId: newId("sandbox"), seed: null });

/** Baked when the first test wants it. */
function templateOf(image: Image, cmd: string, network: boolean): Promise<Template> {
  const ready = network ? { cmd, network, ports: PORTS } : { cmd };
  const key = `${image} ${JSON.stringify(ready)}`;
  const known = templates.get(key) ?? bake(references.get(image) ?? image, ready);
  templates.set(key, known);
  return known;
}

async function bake(image: string, ready: Ready): Promise<Template> {
  const template = { templateId: newId("template"), snapshotId: newId("snapshot") };
  await engine.bake({ kind: "bake", ...operation(), ...template, image, ready, resources: RESOURCES, width: 8 }, async () => {});
  return template;
}

async function answer(ask: Ask, signal: AbortSignal): Promise<Partial<Answer>> {
  switch (ask.verb) {
    case "create": {
      const made = child();
      const template = await templateOf(ask.image, ask.ready, ask.network);
      await engine.create({ kind: "create", ...operation(), ...template, child: made, resources: RESOURCES, egress: null });
      return { ids: [made.sandboxId] };
    }
    case "fork": {
      const children = Array.from({ length: ask.count }, child);
      const result = await engine.fork({
        kind: "fork",
        ...operation(),
        parentId: ask.id,
        templateId: engine.registry.live(ask.id).templateId,
        children,
        resources: RESOURCES,
        egress: null,
      });
      return { ids: children.map(({ sandboxId }) => sandboxId), pauseMs: result.kind === "fork" ? result.pauseMs : 0 };
    }
    case "suspend-and-resume": {
      const suspended = { sandboxId: ask.id, snapshotId: newId("snapshot") };
      await engine.suspend({ kind: "suspend", ...operation(), ...suspended });
      await engine.resume({ kind: "resume", ...operation(), ...suspended, resources: RESOURCES });
      return {};
    }
    case "exec": {
      const out = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
      const end = await execInSandbox(
        engine.registry.live(ask.id),
        ask.request,
        { stdout: (chunk) => void out.stdout.push(chunk), stderr: (chunk) => void out.stderr.push(chunk) },
        signal,
      );
      return { exitCode: end.exit_code, stdout: Buffer.concat(out.stdout).toString(), stderr: Buffer.concat(out.stderr).toString() };
    }
    case "port": {
      const connection = await openPort(engine.registry.live(ask.id), ask.port);
      connection.end(ask.say);
      return { stdout: await text(connection) };
    }
    case "maps": {
      const pids = await engine.registry.live(ask.id).slot.group.processes();
      return { maps: await Promise.all(pids.map(mapsOf)) };
    }
    case "delete":
      await engine.delete({ kind: "delete", ...operation(), sandboxIds: ask.ids });
      return {};
  }
}

async function mapsOf(pid: number): Promise<Answer["maps"][number]> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const inside = /^NSpid:.*?(\d+)$/m.exec(status)?.[1];
  return { pid: Number(inside), text: await readFile(`/proc/${pid}/maps`, "utf8") };
}

const server = createServer((request, response) => {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  json(request)
    .then((body) => answer(askSchema.parse(body), gone.signal))
    .then(
      (result) => response.end(JSON.stringify(result)),
      (error: unknown) => response.writeHead(500).end(explain(error)),
    );
});

/** With what criu said: a test that fails should not need a second run. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = "detail" in error && typeof error.detail === "string" ? `\n${error.detail}` : "";
  return error.message + detail;
}

async function stop(): Promise<void> {
  server.closeAllConnections();
  server.close();
  for (const baked of await Promise.allSettled(templates.values())) {
    if (baked.status === "rejected") continue;
    const { templateId, snapshotId } = baked.value;
    await engine.dropTemplate({ kind: "drop_template", ...operation(), templateId, snapshotIds: [snapshotId] });
  }
  await node.stop();
}

try {
  await templateOf("truth", "true", false);
  server.listen(socket, () => console.log("ready"));
  await new Promise((resolve) => process.stdin.once("end", resolve).resume());
} finally {
  await stop();
}
process.exit(0);
