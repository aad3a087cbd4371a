// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { mkdtemp, rm, chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startRegistry } from "./registry.ts";
import type { Registry } from "./registry.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "collimate-test-"));
  await chmod(dir, 0o711);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const BLOB = Buffer.from("a layer");
const DIGEST = `sha256:${createHash("sha256").update(BLOB).digest("hex")}`;

async function push(registry: Registry): Promise<number> {
  const begun = await fetch(`${registry.url}/v2/test/image/blobs/uploads/`, { method: "POST" });
  const place = new URL(begun.headers.get("location") ?? "", registry.url);
  place.searchParams.set("digest", DIGEST);
  return (await fetch(place, { method: "PUT", body: BLOB })).status;
}

test("a pushed blob outlives a stop and a start on the same directory", async () => {
  {
    await using first = await startRegistry({ dir });
    expect(await push(first)).toBe(201);
  }
  await using second = await startRegistry({ dir });
  const got = await fetch(`${second.url}/v2/test/image/blobs/${DIGEST}`);
  expect(Buffer.from(await got.arrayBuffer())).toEqual(BLOB);
});

test("a pushed blob can be deleted", async () => {
  await using registry = await startRegistry({ dir });
  await push(registry);
  const place = `${registry.url}/v2/test/image/blobs/${DIGEST}`;
  expect((await fetch(place, { method: "DELETE" })).status).toBe(202);
  expect((await fetch(place)).status).toBe(404);
});

test("settings in our environment do not reach it", async () => {
  process.env["REGISTRY_STORAGE_DELETE_ENABLED"] = "false";
  try {
    await using registry = await startRegistry({ dir });
    await push(registry);
    expect((await fetch(`${registry.url}/v2/test/image/blobs/${DIGEST}`, { method: "DELETE" })).status).toBe(202);
  } finally {
    delete process.env["REGISTRY_STORAGE_DELETE_ENABLED"];
  }
});
