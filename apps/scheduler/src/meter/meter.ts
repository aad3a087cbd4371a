// SPDX-License-Identifier: Apache-2.0
/** Metering: an interval for each stretch of running time, at the times that the agent gives. */
import { resourcesSchema } from "@collimate/contracts";
import { type Sandbox, Prisma, type Tx } from "@collimate/db";

/** Opens the meter of sandboxes that have begun to run at their `startedAt`. The same again changes nothing. */
export async function openMeters(tx: Tx, sandboxes: readonly Sandbox[]): Promise<void> {
  const rows = sandboxes.flatMap((sandbox) => {
    if (!sandbox.startedAt) return [];
    const { vcpus, memory_mib } = resourcesSchema.parse(sandbox.resources);
    return [{ id: `${sandbox.id}_${sandbox.startedAt.getTime()}`, tenantId: sandbox.tenantId, sandboxId: sandbox.id, startedAt: sandbox.startedAt, vcpus, memoryMib: memory_mib }];
  });
  if (rows.length > 0) await tx.meterInterval.createMany({ data: rows, skipDuplicates: true });
}

/** Closes what is open; never before it began. */
export async function closeMeters(tx: Tx, sandboxIds: readonly string[], endedAt: Date): Promise<void> {
  if (sandboxIds.length === 0) return;
  await tx.$executeRaw`
    UPDATE "meter_intervals" SET "endedAt" = GREATEST("startedAt", ${endedAt}::timestamptz)
    WHERE "sandboxId" IN (${Prisma.join([...sandboxIds])}) AND "endedAt" IS NULL`;
}
