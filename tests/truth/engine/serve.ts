// SPDX-License-Identifier: Apache-2.0
/**
 * The agent's engine without queues, in a mount and a network namespace of its own: one node and one template for a whole run.
 *   unshare --net --mount --propagation private node engine/serve.ts SOCKET IMAGE
 * Writes one line when it is ready; stops when its standard input ends.
 */
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
import { type Answer, type Ask, askSchema } from "./protocol.ts";

const [socket = "", image = ""] = process.argv.slice(2);
/** What programs/ports.py listens on. */
const PORTS = [8080, 8081, 8082];
const RESOURCES = { vcpus: 2, memory_mib: 2_048, disk_mib: 4_096, pids: 512 };

await requireOwnMountNamespace();
const config = readConfig({ AGENT_SLOTS_READY: "16", REDIS_URL: "none", AGENT_SECRET: "-".repeat(32), ...process.env });
const paths = await makePaths(config.AGENT_STATE);
await mountMemoryFolder(paths.memory);
const node = await startNode(config, paths, createLogger({ service: "truth", level: process.env["TRUTH_LOG"] ?? "error" }));
const { engine } = node;

const common = { tenantId: newId("tenant"), attempt: 0 };
const operation = () => ({ ...common, operationId: newId("operation") });
const newTemplate = () => ({ templateId: newId("template"), snapshotId: newId("snapshot") });
const template = newTemplate();
/** Baked when a test wants it. */
let networked: Promise<typeof template> | undefined;
const child = () => ({ sandboxId: newId("sandbox"), seed: null });

async function bake(ready: Ready, made = newTemplate()): Promise<typeof template> {
  await engine.bake({ kind: "bake", ...operation(), ...made, image, ready, resources: RESOURCES, width: 8 }, async () => {});
  return made;
}

async function answer(ask: Ask, signal: AbortSignal): Promise<Partial<Answer>> {
  switch (ask.verb) {
    case "create": {
      const made = child();
      if (ask.network) networked ??= bake({ cmd: "true", network: true, ports: PORTS });
      const from = ask.network && networked ? await networked : template;
      await engine.create({ kind: "create", ...operation(), ...from, child: made, resources: RESOURCES, egress: null });
      return { ids: [made.sandboxId] };
    }
    case "fork": {
      const children = Array.from({ length: ask.count }, child);
      const result = await engine.fork({
        kind: "fork",
        ...operation(),
        parentId: ask.id,
        templateId: template.templateId,
        children,
        resources: RESOURCES,
        egress: null,
      });
      return { ids: children.map(({ sandboxId }) => sandboxId), pauseMs: result.kind === "fork" ? result.pauseMs : 0 };
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
    case "delete":
      await engine.delete({ kind: "delete", ...operation(), sandboxIds: ask.ids });
      return {};
  }
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
  for (const { templateId, snapshotId } of [template, ...(networked ? [await networked] : [])])
    await engine.dropTemplate({ kind: "drop_template", ...operation(), templateId, snapshotIds: [snapshotId] });
  await node.stop();
}

try {
  await bake({ cmd: "true" }, template);
  server.listen(socket, () => console.log("ready"));
  await new Promise((resolve) => process.stdin.once("end", resolve).resume());
} finally {
  await stop();
}
process.exit(0);
