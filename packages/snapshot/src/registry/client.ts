// SPDX-License-Identifier: Apache-2.0
/** The part of the OCI distribution specification that artifacts need: blobs and manifests of one repository. */
import { CollimateError } from "@collimate/contracts";
import type { z } from "zod";
import { digestOf } from "../chunks.ts";
import { authorize, type Credentials } from "./authorize.ts";

export interface RepositoryOptions {
  /** `host[:port]/name`. */
  readonly address: string;
  /** Speaks http without TLS. */
  readonly insecure: boolean;
  readonly credentials?: Credentials;
}

export const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const ANSWER_LIMIT_MS = 60_000;
/** A manifest lists a chunk in under 300 bytes; no registry takes one of more than 4 MiB. */
const MANIFEST_MAX = 4 * 2 ** 20;
const ADDRESS = /^(?<host>[A-Za-z0-9.-]+(?::\d{1,5})?)\/(?<name>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)$/;

interface Call {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

export class Repository {
  readonly #base: URL;
  readonly #name: string;
  readonly #credentials: Credentials | undefined;
  #authorization: string | undefined;

  constructor({ address, insecure, credentials }: RepositoryOptions) {
    const { host, name } = ADDRESS.exec(address)?.groups ?? {};
    if (!host || !name) throw new Error(`"${address}" is not a repository: host[:port]/name`);
    this.#base = new URL(`${insecure ? "http" : "https"}://${host}/v2/${name}/`);
    this.#name = name;
    this.#credentials = credentials;
  }

  async hasBlob(digest: string): Promise<boolean> {
    const reply = await this.#call(`blobs/${digest}`, { method: "HEAD" });
    return this.#found(reply, `blob ${digest}`);
  }

  /** In one piece: no blob of ours is larger than a chunk. */
  async putBlob(digest: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const opened = await this.#call("blobs/uploads/", { method: "POST" });
    const location = opened.headers.get("location");
    if (opened.status !== 202 || !location) throw await this.#refused(opened, "an upload");
    const target = new URL(location, this.#base);
    // Credentials go to the registry alone.
    if (target.host !== this.#base.host) throw new CollimateError("upstream_error", `the registry sends uploads to ${target.host}`);
    target.searchParams.set("digest", digest);
    const stored = await this.#call(target.href, { method: "PUT", body: bytes, headers: { "content-type": "application/octet-stream" } });
    if (stored.status !== 201) throw await this.#refused(stored, `blob ${digest}`);
    await stored.body?.cancel();
  }

  /** Of at most `limit` bytes, and the ones that the digest says. */
  async getBlob(digest: string, limit: number): Promise<Buffer<ArrayBuffer>> {
    const reply = await this.#call(`blobs/${digest}`, { method: "GET" });
    if (reply.status !== 200) throw await this.#refused(reply, `blob ${digest}`);
    const bytes = await readAll(reply, limit);
    if ((await digestOf(bytes)) !== digest)
      throw new CollimateError("snapshot_damaged", `the registry's blob ${digest} is not what its name says`);
    return bytes;
  }

  async putManifest(tag: string, body: unknown): Promise<string> {
    const bytes = Buffer.from(JSON.stringify(body));
    const reply = await this.#call(`manifests/${tag}`, { method: "PUT", body: bytes, headers: { "content-type": OCI_MANIFEST } });
    if (reply.status !== 201) throw await this.#refused(reply, `manifest ${tag}`);
    await reply.body?.cancel();
    return digestOf(bytes);
  }

  /** Undefined when the registry does not have it. */
  async getManifest<T>(tag: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const reply = await this.#call(`manifests/${tag}`, { method: "GET", headers: { accept: OCI_MANIFEST } });
    if (reply.status === 404) {
      await reply.body?.cancel();
      return undefined;
    }
    if (reply.status !== 200) throw await this.#refused(reply, `manifest ${tag}`);
    const parsed = schema.safeParse(parseJson((await readAll(reply, MANIFEST_MAX)).toString()));
    if (!parsed.success) throw new CollimateError("snapshot_damaged", `manifest ${tag} of the registry is not one of a snapshot`);
    return parsed.data;
  }

  /** Its blobs go with the registry's own collection of garbage. */
  async deleteManifest(tag: string): Promise<void> {
    const found = await this.#call(`manifests/${tag}`, { method: "HEAD", headers: { accept: OCI_MANIFEST } });
    const digest = found.headers.get("docker-content-digest");
    if (!(await this.#found(found, `manifest ${tag}`)) || !digest) return;
    const reply = await this.#call(`manifests/${digest}`, { method: "DELETE" });
    if (reply.status !== 202 && reply.status !== 404) throw await this.#refused(reply, `manifest ${tag}`);
    await reply.body?.cancel();
  }

  async #found(reply: Response, what: string): Promise<boolean> {
    if (reply.status !== 200 && reply.status !== 404) throw await this.#refused(reply, what);
    await reply.body?.cancel();
    return reply.status === 200;
  }

  async #call(path: string, call: Call): Promise<Response> {
    const reply = await this.#send(path, call);
    const challenge = reply.headers.get("www-authenticate");
    if (reply.status !== 401 || !challenge) return reply;
    await reply.body?.cancel();
    this.#authorization = await authorize(challenge, this.#name, this.#credentials);
    return this.#send(path, call);
  }

  async #send(path: string, { method, headers = {}, body }: Call): Promise<Response> {
    const url = new URL(path, this.#base);
    try {
      return await fetch(url, {
        method,
        headers: { ...headers, ...(this.#authorization ? { authorization: this.#authorization } : {}) },
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
        ...(body ? { body } : {}),
      });
    } catch (error) {
      throw new CollimateError("upstream_error", `the registry ${this.#base.host} does not answer`, { cause: error });
    }
  }

  async #refused(reply: Response, what: string): Promise<CollimateError> {
    const said = await reply.text().catch(() => "");
    return new CollimateError("upstream_error", `the registry ${this.#base.host} answered ${reply.status} to ${what}`, {
      detail: said.slice(0, 2_000),
    });
  }
}

async function readAll(reply: Response, limit: number): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | null = reply.body;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > limit) throw new CollimateError("snapshot_damaged", `the registry sends more than the ${limit} bytes that were expected`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
