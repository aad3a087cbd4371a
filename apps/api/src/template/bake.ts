// SPDX-License-Identifier: Apache-2.0
/** The template of a name and body, made or found; and its bake, begun where one is due. */
import { newId, next, TEMPLATE_MACHINE, templatePhaseSchema } from "@collimate/contracts";
import type { Template } from "@collimate/db";
import { isUniqueViolation } from "../operation/begin.ts";
import type { Platform } from "../server/platform.ts";
import type { Caller } from "../tenant/authenticate.ts";
import { TenantScope } from "../tenant/scope.ts";
import { specHash } from "./spec.ts";
import type { TemplateSpec } from "./spec.ts";

/** For pull, unpack, boot and checkpoint; the ready check has its own limit on top. */
const BAKE_MS = 1_800_000;
const READY_DEFAULT_S = 600;

export interface WantedTemplate {
  readonly name: string;
  readonly image: string;
  readonly spec: TemplateSpec;
  readonly width: number;
}

export interface EnsuredTemplate {
  readonly template: Template;
  /** The bake to announce, if one is due. */
  readonly operationId?: string;
}

export async function ensureTemplate(platform: Platform, caller: Caller, wanted: WantedTemplate): Promise<EnsuredTemplate> {
  const once = () => platform.database.client.$transaction((tx) => ensure(new TenantScope(tx, caller.tenantId), wanted));
  try {
    return await once();
  } catch (error) {
    // Two equal requests at once: the second finds what the first made.
    if (isUniqueViolation(error)) return once();
    throw error;
  }
}

async function ensure(scope: TenantScope, wanted: WantedTemplate): Promise<EnsuredTemplate> {
  await scope.lock();
  const hash = specHash(wanted.image, wanted.spec);
  const known = await scope.templateOfBody(wanted.name, hash);
  if (!known) {
    const template = await scope.insertTemplate({
      id: newId("template"),
      name: wanted.name,
      image: wanted.image,
      spec: { ...wanted.spec },
      specHash: hash,
      declared: wanted.width,
      declaredAt: new Date(),
    });
    return { template, operationId: await insertBake(scope, template, wanted) };
  }
  if (known.phase !== "Failed") {
    await scope.touchTemplate(known.id, { declared: wanted.width, declaredAt: new Date() });
    return { template: { ...known, declared: wanted.width } };
  }
  const phase = next(TEMPLATE_MACHINE, templatePhaseSchema.parse(known.phase), "rebake");
  const fresh = { phase, error: "", errorCode: null, declared: wanted.width, declaredAt: new Date() };
  await scope.updateTemplate(known, fresh);
  return { template: { ...known, ...fresh }, operationId: await insertBake(scope, known, wanted) };
}

async function insertBake(scope: TenantScope, template: Template, wanted: WantedTemplate): Promise<string> {
  const { ready } = wanted.spec;
  const readySeconds = Math.max(ready.timeout_s ?? READY_DEFAULT_S, ready.http_timeout_s ?? 0);
  const id = newId("operation");
  await scope.insertOperation({
    id,
    kind: "bake",
    templateId: template.id,
    request: { width: wanted.width },
    deadlineAt: new Date(Date.now() + BAKE_MS + readySeconds * 1_000),
  });
  return id;
}
