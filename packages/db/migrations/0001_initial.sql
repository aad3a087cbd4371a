-- SPDX-License-Identifier: Apache-2.0
-- Written by hand from prisma/schema.prisma; schema-agreement.test.ts holds the two together.
-- What Prisma cannot say stands here: CHECKs that repeat the state words, partial unique indexes.

CREATE TABLE "tenants" (
  "id"               TEXT PRIMARY KEY,
  "name"             TEXT NOT NULL,
  "tier"             TEXT NOT NULL CHECK ("tier" IN ('demo', 'pro', 'ent')),
  "spendLimitMicros" BIGINT,
  "createdAt"        TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE TABLE "api_keys" (
  "id"        TEXT PRIMARY KEY,
  "tenantId"  TEXT NOT NULL REFERENCES "tenants" ("id"),
  "name"      TEXT NOT NULL DEFAULT '',
  "hash"      TEXT NOT NULL,
  "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "expiresAt" TIMESTAMPTZ(3),
  "revokedAt" TIMESTAMPTZ(3)
);
CREATE INDEX "api_keys_tenantId_idx" ON "api_keys" ("tenantId");

CREATE TABLE "templates" (
  "id"          TEXT PRIMARY KEY,
  "tenantId"    TEXT NOT NULL REFERENCES "tenants" ("id"),
  "name"        TEXT NOT NULL,
  "image"       TEXT NOT NULL,
  "imageDigest" TEXT,
  "visibility"  TEXT NOT NULL DEFAULT 'private' CHECK ("visibility" IN ('private', 'public')),
  "phase"       TEXT NOT NULL DEFAULT 'Pending' CHECK ("phase" IN ('Pending', 'Converting', 'Distributing', 'Live', 'Failed')),
  "spec"        JSONB NOT NULL,
  "specHash"    TEXT NOT NULL,
  "declared"    INTEGER NOT NULL DEFAULT 0,
  "declaredAt"  TIMESTAMPTZ(3),
  "releasedAt"  TIMESTAMPTZ(3),
  "bakeMode"    TEXT NOT NULL DEFAULT '',
  "error"       TEXT NOT NULL DEFAULT '',
  "errorCode"   TEXT,
  "buildFails"  INTEGER NOT NULL DEFAULT 0,
  "snapshotId"  TEXT,
  "version"     INTEGER NOT NULL DEFAULT 0,
  "createdAt"   TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "updatedAt"   TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "deletedAt"   TIMESTAMPTZ(3)
);
CREATE INDEX "templates_tenantId_name_idx" ON "templates" ("tenantId", "name");
-- A create that is sent again (published clients do) meets the template that the first one made.
CREATE UNIQUE INDEX "templates_same_body_key" ON "templates" ("tenantId", "name", "specHash") WHERE "deletedAt" IS NULL;

CREATE TABLE "snapshots" (
  "id"           TEXT PRIMARY KEY,
  "tenantId"     TEXT NOT NULL,
  "templateId"   TEXT NOT NULL REFERENCES "templates" ("id"),
  "kind"         TEXT NOT NULL CHECK ("kind" IN ('template', 'suspend')),
  "sizeBytes"    BIGINT NOT NULL DEFAULT 0,
  "privateBytes" BIGINT NOT NULL DEFAULT 0,
  "createdAt"    TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "deletedAt"    TIMESTAMPTZ(3)
);
CREATE INDEX "snapshots_templateId_idx" ON "snapshots" ("templateId");

CREATE TABLE "node_snapshots" (
  "nodeId"       TEXT NOT NULL,
  "snapshotId"   TEXT NOT NULL,
  "templateId"   TEXT NOT NULL,
  "resident"     BOOLEAN NOT NULL,
  "warm"         INTEGER NOT NULL,
  "frozen"       INTEGER NOT NULL,
  "privateBytes" BIGINT NOT NULL DEFAULT 0,
  "seenAt"       TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY ("nodeId", "snapshotId")
);
CREATE INDEX "node_snapshots_templateId_idx" ON "node_snapshots" ("templateId");

CREATE TABLE "nodes" (
  "id"             TEXT PRIMARY KEY,
  "url"            TEXT NOT NULL,
  "bootId"         TEXT NOT NULL,
  "startId"        TEXT NOT NULL,
  "state"          TEXT NOT NULL DEFAULT 'live' CHECK ("state" IN ('live', 'draining', 'lost')),
  "memoryTotalMib" INTEGER NOT NULL,
  "memoryFreeMib"  INTEGER NOT NULL,
  "reservedMib"    INTEGER NOT NULL DEFAULT 0 CHECK ("reservedMib" >= 0),
  "slotsTotal"     INTEGER NOT NULL,
  "slotsFree"      INTEGER NOT NULL,
  "reservedSlots"  INTEGER NOT NULL DEFAULT 0 CHECK ("reservedSlots" >= 0),
  "vcpus"          INTEGER NOT NULL,
  "diskFreeMib"    INTEGER NOT NULL DEFAULT 0,
  "facts"          JSONB NOT NULL,
  "heartbeatAt"    TIMESTAMPTZ(3) NOT NULL,
  "version"        INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE "sandboxes" (
  "id"           TEXT PRIMARY KEY,
  "tenantId"     TEXT NOT NULL REFERENCES "tenants" ("id"),
  "templateId"   TEXT NOT NULL REFERENCES "templates" ("id"),
  "parentId"     TEXT,
  "groupId"      TEXT,
  "ordinal"      INTEGER NOT NULL DEFAULT 0,
  "nodeId"       TEXT,
  "snapshotId"   TEXT,
  "state"        TEXT NOT NULL DEFAULT 'requested' CHECK ("state" IN
    ('requested', 'placing', 'starting', 'running', 'suspending', 'suspended', 'resuming', 'deleting', 'deleted', 'failed')),
  "version"      INTEGER NOT NULL DEFAULT 0,
  "label"        TEXT NOT NULL DEFAULT '',
  "labels"       JSONB NOT NULL DEFAULT '{}',
  "egress"       JSONB,
  "secretRefs"   TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
  "resources"    JSONB NOT NULL,
  "endpoints"    JSONB NOT NULL DEFAULT '{}',
  "seed"         TEXT,
  "reservedMib"  INTEGER NOT NULL DEFAULT 0,
  "forkTimeMs"   DOUBLE PRECISION,
  "createTimeMs" DOUBLE PRECISION,
  "execCount"    INTEGER NOT NULL DEFAULT 0,
  "missedBeats"  INTEGER NOT NULL DEFAULT 0,
  "lastSeenAt"   TIMESTAMPTZ(3),
  "lastActiveAt" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "createdAt"    TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "startedAt"    TIMESTAMPTZ(3),
  "endedAt"      TIMESTAMPTZ(3),
  "error"        TEXT NOT NULL DEFAULT ''
);
CREATE INDEX "sandboxes_tenantId_state_idx" ON "sandboxes" ("tenantId", "state");
CREATE INDEX "sandboxes_nodeId_state_idx" ON "sandboxes" ("nodeId", "state");
CREATE INDEX "sandboxes_templateId_state_idx" ON "sandboxes" ("templateId", "state");
-- What the reaper looks for, without reading a year of deleted rows.
CREATE INDEX "sandboxes_idle_idx" ON "sandboxes" ("lastActiveAt") WHERE "state" = 'running';

CREATE TABLE "operations" (
  "id"             TEXT PRIMARY KEY,
  "tenantId"       TEXT NOT NULL,
  "kind"           TEXT NOT NULL CHECK ("kind" IN ('bake', 'create', 'fork', 'suspend', 'resume', 'delete', 'drop_template')),
  "state"          TEXT NOT NULL DEFAULT 'queued' CHECK ("state" IN ('queued', 'assigned', 'done', 'failed')),
  "idempotencyKey" TEXT,
  "requestHash"    TEXT,
  "nodeId"         TEXT,
  "templateId"     TEXT,
  "snapshotId"     TEXT,
  "sandboxIds"     TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
  "request"        JSONB NOT NULL,
  "result"         JSONB,
  "failure"        JSONB,
  "attempt"        INTEGER NOT NULL DEFAULT 0,
  "version"        INTEGER NOT NULL DEFAULT 0,
  "waiterUntil"    TIMESTAMPTZ(3),
  "deadlineAt"     TIMESTAMPTZ(3),
  "createdAt"      TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  "assignedAt"     TIMESTAMPTZ(3),
  "endedAt"        TIMESTAMPTZ(3)
);
CREATE UNIQUE INDEX "operations_tenantId_idempotencyKey_key" ON "operations" ("tenantId", "idempotencyKey");
CREATE INDEX "operations_state_createdAt_idx" ON "operations" ("state", "createdAt");
-- Which open operation touches a sandbox? Ended ones are not asked for.
CREATE INDEX "operations_open_sandboxes_idx" ON "operations" USING GIN ("sandboxIds") WHERE "state" IN ('queued', 'assigned');

-- Leases that may run out: what was made for a caller that never came for it.
CREATE INDEX "operations_lease_idx" ON "operations" ("waiterUntil") WHERE "waiterUntil" IS NOT NULL;

CREATE TABLE "meter_intervals" (
  "id"        TEXT PRIMARY KEY,
  "tenantId"  TEXT NOT NULL,
  "sandboxId" TEXT NOT NULL REFERENCES "sandboxes" ("id"),
  "startedAt" TIMESTAMPTZ(3) NOT NULL,
  "endedAt"   TIMESTAMPTZ(3) CHECK ("endedAt" >= "startedAt"),
  "vcpus"     DOUBLE PRECISION NOT NULL,
  "memoryMib" INTEGER NOT NULL
);
CREATE INDEX "meter_intervals_tenantId_startedAt_idx" ON "meter_intervals" ("tenantId", "startedAt");
CREATE INDEX "meter_intervals_sandboxId_idx" ON "meter_intervals" ("sandboxId");
-- A sandbox is never billed twice for the same moment: one open stretch at most.
CREATE UNIQUE INDEX "meter_intervals_open_key" ON "meter_intervals" ("sandboxId") WHERE "endedAt" IS NULL;
