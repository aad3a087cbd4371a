// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { connect } from "node:net";
import { listensOn } from "@collimate/embedded";
import type { ProcessIdentity } from "@collimate/embedded";
import type { Part } from "./part.ts";

/** Resolves when the URL answers 200; rejects with what happened instead. */
export async function serves(url: string, timeoutMs = 2_000): Promise<void> {
  const reply = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  await reply.arrayBuffer();
  if (reply.status !== 200) throw new Error(`${url} answered ${reply.status}`);
}

/** Resolves when a connection is accepted on a loopback port. */
export async function accepts(port: number, timeoutMs = 2_000): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(timeoutMs) });
  } finally {
    socket.destroy();
  }
}

/** Whether a part serves, and it is this process that does: on a port that was given up another program may answer by now. */
export async function servedBy(identity: ProcessIdentity, part: Part, endpoint: { url: string; port: number }): Promise<boolean> {
  const answers = await part.probe(endpoint).then(
    () => true,
    () => false,
  );
  return answers && (await listensOn(identity.pid, endpoint.port));
}
