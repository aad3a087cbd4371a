-- SPDX-License-Identifier: Apache-2.0
-- What the sweeps look for every few seconds, without reading a year of deleted rows.
CREATE INDEX "sandboxes_deleting_idx" ON "sandboxes" ("id") WHERE "state" = 'deleting';
CREATE INDEX "sandboxes_failed_idx" ON "sandboxes" ("endedAt") WHERE "state" = 'failed';
-- Has a parent living children?
CREATE INDEX "sandboxes_children_idx" ON "sandboxes" ("parentId") WHERE "parentId" IS NOT NULL;
-- Snapshots that are deleted and may still be on a node.
CREATE INDEX "snapshots_deleted_idx" ON "snapshots" ("id") WHERE "deletedAt" IS NOT NULL;
