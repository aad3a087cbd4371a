// SPDX-License-Identifier: Apache-2.0
/** The agent: one per node. Checks the host, starts the mechanism daemon, takes jobs, serves execs; ends all that it made when told to stop. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openQueues } from "@collimate/queue";
import { createLogger } from "@collimate/telemetry";
import { z } from "zod";
import { readConfig } from "./config.ts";
import { openDaemon } from "./daemon/daemon.ts";
import { mountMemoryFolder, requireOwnMountNamespace } from "./memory-mount.ts";
import { startNode } from "./node.ts";
import { makePaths } from "./paths.ts";
import { isLocal, isPlatforms } from "./sandbox/owner.ts";
import { makeServer } from "./server/server.ts";
import { TokenCheck } from "./server/token.ts";
import { HeartbeatMaker } from "./worker/heartbeat.ts";
import { JobRunner } from "./worker/jobs.ts";

/** Jobs at once: restores have a limit of their own, bakes wait for programs. */
const JOBS_AT_ONCE = 256;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger({ service: "agent", level: config.LOG_LEVEL });
  await requireOwnMountNamespace();
  const paths = await makePaths(config.AGENT_STATE);
  await mountMemoryFolder(paths.memory, config.AGENT_MEMORY_MIB);

  const node = await startNode(config, paths, log);
  const stopping = new AbortController();
  const server = makeServer({
    registry: node.engine.registry,
    tokens: new TokenCheck(config.AGENT_SECRET),
    log,
    transfers: paths.transfers,
    health: () => ({ status: stopping.signal.aborted ? "draining" : "ok", node: config.NODE_ID, sandboxes: node.engine.registry.size }),
  });
  await server.listen({ host: config.AGENT_HOST, port: config.AGENT_PORT, backlog: 4_096 });
  const address = server.server.address();
  const port = typeof address === "object" && address ? address.port : config.AGENT_PORT;
  const url = config.AGENT_URL ?? `http://${config.AGENT_HOST}:${port}`;

  const queues = openQueues(config.REDIS_URL, {
    onError: (err) => log.warn({ err }, "queue trouble"),
    onDeadLetter: (letter) => log.error({ letter }, "job given up"),
  });
  const report = queues.report.bind(queues);
  const daemon = await openDaemon(config, node, await ownVersion(), stopping.signal, log);
  node.onExit(async (sandbox, reason, cleared) => {
    const at = Date.now();
    if (isLocal(sandbox)) daemon.sessions.recordGone(sandbox.id, reason);
    await cleared;
    if (isPlatforms(sandbox)) await report({ kind: "exited", nodeId: config.NODE_ID, sandboxId: sandbox.id, at, reason });
  });
  const heartbeats = new HeartbeatMaker(node.engine, {
    nodeId: config.NODE_ID,
    url,
    criu: node.criuVersion,
    cgroup: node.cgroupVersion,
    reserveMib: config.AGENT_RESERVE_MIB,
    stateFolder: config.AGENT_STATE,
  });
  const activity = node.activity;
  const beat = async () => {
    await report(await heartbeats.make(stopping.signal.aborted));
    const execs = activity();
    if (execs.length > 0) await report({ kind: "activity", nodeId: config.NODE_ID, at: Date.now(), execs });
  };
  await beat();
  const runner = new JobRunner(node.engine, config.NODE_ID, report, log);
  const worker = queues.nodeWorker(config.NODE_ID, (job) => runner.run(job), { concurrency: JOBS_AT_ONCE });
  const timer = setInterval(() => void beat().catch((err: unknown) => log.warn({ err }, "heartbeat not sent")), config.HEARTBEAT_MS);
  log.info({ url, node: config.NODE_ID }, "ready");

  const stop = async (why: string) => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    log.info({ why }, "stopping");
    clearInterval(timer);
    await beat().catch((err: unknown) => log.warn({ err }, "last heartbeat not sent"));
    await node.stop();
    await Promise.race([worker.close(), new Promise((resolve) => setTimeout(resolve, 10_000).unref())]);
    await daemon.close();
    await server.close();
    await queues.close();
    log.info("stopped");
    process.exit(0);
  };
  process.once("SIGTERM", () => void stop("SIGTERM"));
  process.once("SIGINT", () => void stop("SIGINT"));
  void node.hostdEnded.then(({ log: said }) => {
    if (stopping.signal.aborted) return;
    log.fatal({ said, path: join(paths.run, "hostd.sock") }, "the mechanism daemon ended");
    process.exit(1);
  });
}

async function ownVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
