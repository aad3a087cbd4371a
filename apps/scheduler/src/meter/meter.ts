// SPDX-License-Identifier: Apache-2.0
/** Metering: an interval for each stretch of running time, at the times that the agent gives. */
import { resourcesSchema } from "@collimate/contracts";
import type { Sandbox, Tx } from "@collimate/db";
import type { Ending } from "../sandbox/move.ts";

/** Opens the meter of sandboxes that have begun to run at their `startedAt`. The same again changes nothing. */
export async function openMeters(tx: Tx, sandboxes: readonly Sandbox[]): Promise<void> {
  const rows = sandboxes.flatMap((sandbox) => {
    if (!sandbox.startedAt) return [];
    const { vcpus, memory_mib } = resourcesSchema.parse(sandbox.resources);
    return [
      {
        id: `${sandbox.id}_${sandbox.startedAt.getTime()}`,
        tenantId: sandbox.tenantId,
        sandboxId: sandbox.id,
        startedAt: sandbox.startedAt,
        vcpus,
        memoryMib: memory_mib,
      },
    ];
  });
  if (rows.length > 0) await tx.meterInterval.createMany({ data: rows, skipDuplicates: true });
}

/** Closes what is open, each at its own time; never before it began. */
export async function closeMeters(tx: Tx, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return;
  await tx.$executeRaw`
    UPDATE "meter_intervals" m SET "endedAt" = GREATEST(m."startedAt", e."endedAt")
    FROM jsonb_to_recordset(${JSON.stringify(endings)}::jsonb) AS e("sandboxId" TEXT, "endedAt" TIMESTAMPTZ)
    WHERE m."sandboxId" = e."sandboxId" AND m."endedAt" IS NULL`;
}
