// SPDX-License-Identifier: Apache-2.0
/** The node's own surface as a whole: opened when the node is ready, drained when it stops. */
import type { Logger } from "@collimate/telemetry";
import type { FastifyInstance } from "fastify";
import type { AgentConfig } from "../config.ts";
import type { AgentNode } from "../node.ts";
import { Execs } from "./execs.ts";
import { listenOnPort, listenOnSocket } from "./listen.ts";
import { PATIENCE } from "./long-reply.ts";
import type { DaemonParts } from "./routes.ts";
import { buildDaemon } from "./server.ts";
import { Sessions } from "./sessions.ts";

const MIB = 2 ** 20;
/** How often idle sessions are looked for, at most. */
const IDLE_LOOK_MS = 10_000;
/** The sandboxes have ended by then, so that every exec has its answer; whoever still sends a request is cut off. */
const CLOSE_LIMIT_MS = 2_000;

export interface Daemon {
  readonly sessions: Sessions;
  close(): Promise<void>;
}

export async function openDaemon(
  config: AgentConfig,
  node: AgentNode,
  version: string,
  stopping: AbortSignal,
  log: Logger,
): Promise<Daemon> {
  const idleMs = config.AGENT_SESSION_IDLE_S * 1_000;
  const sessions = new Sessions({ engine: node.engine, log, idleMs, reserveBytes: config.AGENT_RESERVE_MIB * MIB, stopping });
  const parts: DaemonParts = {
    sessions,
    execs: new Execs(sessions, config.AGENT_SESSION_EXECS, stopping),
    templates: () => node.engine.templateIds(),
    version,
    patience: PATIENCE,
    stopping,
  };
  const servers: FastifyInstance[] = [];
  if (config.AGENT_SOCKET) {
    const server = buildDaemon(parts, log);
    servers.push(server);
    await listenOnSocket(server, config.AGENT_SOCKET);
    log.info({ socket: config.AGENT_SOCKET }, "the node's own surface listens");
  }
  if (config.AGENT_DAEMON_PORT !== undefined) {
    const server = buildDaemon(parts, log);
    servers.push(server);
    const port = await listenOnPort(server, config.AGENT_DAEMON_HOST, config.AGENT_DAEMON_PORT);
    log.info({ host: config.AGENT_DAEMON_HOST, port }, "the node's own surface listens");
  }
  const look = setInterval(() => void sessions.endIdle(), Math.min(IDLE_LOOK_MS, Math.max(1_000, idleMs / 2)));
  return {
    sessions,
    close: async () => {
      clearInterval(look);
      const cut = setTimeout(() => servers.forEach((server) => server.server.closeAllConnections()), CLOSE_LIMIT_MS);
      await Promise.all(servers.map((server) => server.close()));
      clearTimeout(cut);
    },
  };
}
