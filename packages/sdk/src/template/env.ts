// SPDX-License-Identifier: Apache-2.0
/** An environment to roll out in: a catalog image or an own template, with a width that is expected for a while. */
import type { Client } from "../client.ts";
import { ConfigurationError, NotFoundError } from "../errors.ts";
import type { Session, SessionOptions } from "../session/session.ts";
import type { Ready } from "../wire.generated.ts";
import { TemplateHandle, type WaitOptions } from "./handle.ts";
import type { TemplateStatus } from "./status.ts";
import { Template } from "./template.ts";

export interface EnvOptions {
  /** How many sandboxes are expected at once. */
  readonly width?: number;
  /** Name of the template that is made of a catalog image when `ready` or `env` are given. Default: the reference. */
  readonly name?: string;
  /** Another ready check than the catalog image's own. */
  readonly ready?: Ready;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Env implements AsyncDisposable {
  readonly handle: TemplateHandle;
  readonly #client: Client;
  readonly #releasable: boolean;
  #released: Promise<void> | undefined;

  constructor(client: Client, handle: TemplateHandle, releasable: boolean) {
    this.#client = client;
    this.handle = handle;
    this.#releasable = releasable;
  }

  get id(): string {
    return this.handle.id;
  }

  sandbox(options: SessionOptions = {}): Promise<Session> {
    return this.#client.session(this.handle, options);
  }

  status(signal?: AbortSignal): Promise<TemplateStatus> {
    return this.handle.status(signal);
  }

  wait(options: WaitOptions = {}): Promise<TemplateStatus> {
    return this.handle.wait(options);
  }

  /** The width is no longer expected. Sent once, and only when a width was declared. */
  release(): Promise<void> {
    this.#released ??= this.#releasable ? this.#client.releaseTemplate(this.id) : Promise.resolve();
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/** What `client.env` does: finds `ref` (catalog before own templates, ids before names), bakes or declares if asked to. */
export async function openEnv(client: Client, ref: string, options: EnvOptions): Promise<Env> {
  const found = await find(client, ref, options.signal);
  const overridden = options.ready !== undefined || Object.keys(options.env ?? {}).length > 0;
  if (!overridden) {
    const handle = new TemplateHandle(client, found);
    const declares = options.width !== undefined && found.visibility === "private";
    if (declares) await client.expectWidth(found.id, options.width, options.signal);
    return new Env(client, handle, declares);
  }
  if (found.visibility === "private") {
    throw new ConfigurationError(
      `${ref} is a template of your own: bake it with the other ready check or env under another name; nothing was changed`,
    );
  }
  const handle = await Template.bake(client, {
    name: options.name ?? ref,
    image: found.image,
    width: options.width ?? 1,
    ...pick(options),
  });
  return new Env(client, handle, true);
}

function pick({ ready, env, signal }: EnvOptions): Pick<EnvOptions, "ready" | "env" | "signal"> {
  return { ...(ready ? { ready } : {}), ...(env ? { env } : {}), ...(signal ? { signal } : {}) };
}

async function find(client: Client, ref: string, signal: AbortSignal | undefined): Promise<TemplateStatus> {
  const images = await client.images(signal);
  const listed = images.find((row) => row.id === ref) ?? images.find((row) => row.name === ref);
  if (listed) return listed;
  try {
    return await client.getTemplate(ref, signal);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    // A server that looks templates up by id alone.
    const own = (await client.listTemplates(signal)).find((row) => row.name === ref);
    if (own) return own;
    throw error;
  }
}
