// SPDX-License-Identifier: Apache-2.0
/** Where the node's own surface is reached: a unix socket, and TCP when asked. Reachability is the permission. */
import { chmod, lstat, mkdir, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import type { FastifyInstance } from "fastify";

/** Connections that the kernel keeps for us: a burst opens hundreds at once, and a refused one is an error to a client. */
const BACKLOG = 4_096;
/** sun_path of unix(7), less its closing zero. */
const SOCKET_PATH_MAX = 107;
/** Root and the agent's group: to let others in, give the folder to their group, or mount it where they are. */
const SOCKET_MODE = 0o660;
const ANSWER_MS = 1_000;

export async function listenOnSocket(server: FastifyInstance, path: string): Promise<void> {
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX)
    throw new Error(`AGENT_SOCKET: longer than a socket's path may be (${SOCKET_PATH_MAX} bytes): ${path}`);
  await mkdir(dirname(path), { recursive: true });
  await removeDead(path);
  await server.listen({ path, backlog: BACKLOG });
  await chmod(path, SOCKET_MODE);
}

/** Gives the port. */
export async function listenOnPort(server: FastifyInstance, host: string, port: number): Promise<number> {
  await server.listen({ host, port, backlog: BACKLOG });
  const address = server.server.address();
  return typeof address === "object" && address ? address.port : port;
}

/** A socket that an agent left when it was killed is in the way of the next; one that answers is somebody's. */
async function removeDead(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  if (!found.isSocket()) throw new Error(`AGENT_SOCKET: ${path} is there and is no socket`);
  if (await answers(path)) throw new Error(`AGENT_SOCKET: another process listens at ${path}`);
  await unlink(path);
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.setTimeout(ANSWER_MS, () => resolve(true));
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
