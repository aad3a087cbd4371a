// SPDX-License-Identifier: Apache-2.0
/** What a create and a fork write into their rows. */
import { CollimateError, isUnrestricted, labelsSchema, needsNetwork, newId, TIER_LIMITS } from "@collimate/contracts";
import type { CreateSandbox, Egress, ForkSandbox, Tier } from "@collimate/contracts";
import { Prisma } from "@collimate/db";
import type { Sandbox, Template } from "@collimate/db";
import { templateSpecSchema } from "../template/spec.ts";

type NewSandbox = Omit<Prisma.SandboxCreateManyInput, "tenantId">;

/** A secret that would silently be missing inside is worse than a refusal. */
export function refuseSecrets(body: CreateSandbox): void {
  if ((body.secret_refs?.length ?? 0) > 0) throw new CollimateError("not_implemented", "secret_refs: this server keeps no secrets yet");
}

/** What a sandbox of this template may reach. Without a network every policy holds by itself. */
function egressOf(template: Template, body: CreateSandbox, tier: Tier): Egress | undefined {
  if (!needsNetwork(templateSpecSchema.parse(template.spec).ready)) return body.egress;
  // The demo tier has no network, also in sandboxes of a catalog template that has one.
  if (!TIER_LIMITS[tier].network) return { mode: "none" };
  if (body.egress?.mode !== "none" && !isUnrestricted(body.egress ?? null))
    throw new CollimateError("not_implemented", "egress: this server has no policies but open and none yet, for a template with a network");
  return body.egress;
}

export function newSandbox(template: Template, body: CreateSandbox, tier: Tier): NewSandbox & { id: string } {
  return {
    id: newId("sandbox"),
    templateId: template.id,
    label: body.label ?? "",
    labels: body.labels ?? {},
    egress: egressOf(template, body, tier) ?? Prisma.DbNull,
    secretRefs: [],
    resources: { ...templateSpecSchema.parse(template.spec).resources },
  };
}

export function checkLists(body: ForkSandbox): void {
  for (const field of ["labels", "seeds"] as const) {
    const length = body[field]?.length;
    if (length !== undefined && length !== body.count) {
      throw new CollimateError("bad_request", `${field}: has ${length} entries for ${body.count} children; give exactly one for each`);
    }
  }
}

/** Children inherit template, labels, egress, secrets and limits; a child's own label stands in place of the parent's. */
export function newChild(parent: Sandbox, body: ForkSandbox, ordinal: number, groupId: string): NewSandbox & { id: string } {
  return {
    id: newId("sandbox"),
    templateId: parent.templateId,
    parentId: parent.id,
    groupId,
    ordinal,
    label: body.labels?.[ordinal] ?? parent.label,
    labels: labelsSchema.parse(parent.labels),
    egress: parent.egress === null ? Prisma.DbNull : (parent.egress satisfies Prisma.JsonValue),
    secretRefs: parent.secretRefs,
    resources: parent.resources ?? {},
    seed: body.seeds?.[ordinal] ?? null,
  };
}
