// SPDX-License-Identifier: Apache-2.0
/** The far end of the agent's file surface (contracts/files.ts), for tests of the api alone: files of this machine. */
import {
  CollimateError,
  FILE_HASH_HEADER,
  FILE_MODE_HEADER,
  FILE_TYPE,
  fileHashSchema,
  getFileSchema,
  putFileSchema,
} from "@collimate/contracts";
import type { FileReply } from "@collimate/contracts";
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export async function serveFile(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
  if (request.method === "PUT") {
    const reply = await put(request, query);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
  } else {
    await get(response, getFileSchema.parse(Object.fromEntries(query)).path);
  }
}

async function put(request: IncomingMessage, query: URLSearchParams): Promise<FileReply> {
  const { path, mode } = putFileSchema.parse(Object.fromEntries(query));
  const wanted = fileHashSchema.optional().parse(request.headers[FILE_HASH_HEADER]);
  if ((await stat(path).catch(() => undefined))?.isDirectory())
    throw new CollimateError("bad_request", `cannot replace ${path}: Is a directory`);
  const temporary = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true });
  const hash = createHash("sha256");
  let size = 0;
  try {
    await pipeline(
      Readable.from(request.iterator({ destroyOnReturn: false })),
      async function* (bytes: AsyncIterable<Buffer>) {
        for await (const chunk of bytes) {
          hash.update(chunk);
          size += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(temporary),
    );
    const sha256 = hash.digest("hex");
    if (wanted !== undefined && wanted !== sha256)
      throw new CollimateError("bad_request", `the bytes that came for ${path} are not those of the given SHA-256`);
    if (mode !== undefined) await chmod(temporary, mode);
    await rename(temporary, path);
    return { path, size, sha256 };
  } finally {
    await rm(temporary, { force: true });
  }
}

async function get(response: ServerResponse, path: string): Promise<void> {
  const found = await stat(path).catch(() => {
    throw new CollimateError("not_found", `cannot read ${path}: No such file or directory`);
  });
  if (!found.isFile()) throw new CollimateError("bad_request", `cannot read ${path}: Is a directory`);
  response.writeHead(200, {
    "content-type": FILE_TYPE,
    "content-length": found.size,
    [FILE_HASH_HEADER]: createHash("sha256")
      .update(await readFile(path))
      .digest("hex"),
    [FILE_MODE_HEADER]: (found.mode & 0o7777).toString(8).padStart(4, "0"),
  });
  await pipeline(createReadStream(path), response);
}
