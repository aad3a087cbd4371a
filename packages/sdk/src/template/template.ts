// SPDX-License-Identifier: Apache-2.0
import type { Client } from "../client.ts";
import type { CreateTemplate, Ready } from "../wire.generated.ts";
import { TemplateHandle } from "./handle.ts";
import type { TemplateStatus } from "./status.ts";

export interface BakeOptions {
  /** The same name and body give the same template; another body makes a new version with a new id. */
  readonly name: string;
  /** OCI reference; by digest, so that it cannot change underneath. */
  readonly image: string;
  /** When is the booted image ready? Default: at once. */
  readonly ready?: Ready;
  /** How many sandboxes are wanted at once. */
  readonly width?: number;
  /** Variables of every sandbox; `ready.env` wins. */
  readonly env?: Readonly<Record<string, string>>;
  /** Limits of each sandbox; what is left out has the server's default. */
  readonly resources?: NonNullable<CreateTemplate["resources"]>;
  readonly signal?: AbortSignal;
}

/** Templates: an image, booted, warmed by a ready check, and checkpointed. */
export const Template = {
  /**
   * Asks for a template and returns at once; `handle.wait()` waits until it is ready.
   * @example
   * const handle = await Template.bake(client, { name: "swe", image, ready: { cmd: "python -c 'import torch'" }, width: 64 });
   * await handle.wait();
   */
  async bake(client: Client, options: BakeOptions): Promise<TemplateHandle> {
    const status = await client.createTemplate(bakeBody(options), options.signal);
    return new TemplateHandle(client, status);
  },

  /** How far a template is; `ref` is its id or name. */
  status(client: Client, ref: string, signal?: AbortSignal): Promise<TemplateStatus> {
    return client.getTemplate(ref, signal);
  },

  /** A handle on a template that exists. */
  async attach(client: Client, ref: string, signal?: AbortSignal): Promise<TemplateHandle> {
    return new TemplateHandle(client, await client.getTemplate(ref, signal));
  },
} as const;

function bakeBody(options: BakeOptions): CreateTemplate {
  const env = { ...options.env, ...options.ready?.env };
  const ready: Ready = { ...options.ready, ...(Object.keys(env).length > 0 ? { env } : {}) };
  return {
    name: options.name,
    image: options.image,
    pool: { width: options.width ?? 0 },
    ...(Object.keys(ready).length > 0 ? { ready } : {}),
    ...(options.resources ? { resources: options.resources } : {}),
  };
}
