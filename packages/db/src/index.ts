// SPDX-License-Identifier: Apache-2.0
export { Prisma, PrismaClient } from "./generated/client.ts";
export type { ApiKey, MeterInterval, Node, NodeSnapshot, Operation, Sandbox, Snapshot, Template, Tenant } from "./generated/client.ts";
export * from "./database.ts";
export * from "./migrate.ts";
