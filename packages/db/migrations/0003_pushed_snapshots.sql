-- SPDX-License-Identifier: Apache-2.0
-- Whether the registry has the snapshot too, so that any node like the one that holds it can have it.
ALTER TABLE "node_snapshots" ADD COLUMN "pushed" BOOLEAN NOT NULL DEFAULT false;
