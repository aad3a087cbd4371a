// SPDX-License-Identifier: Apache-2.0
import { freshDatabase } from "@collimate/testing";
import { describe, expect, it } from "vitest";
import { migrate, openDatabase } from "./index.ts";

describe("migrations", () => {
  it("are applied once, however many start at the same time", async () => {
    const url = await freshDatabase();
    const runs = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    expect(runs.filter((names) => names.includes("0001_initial.sql"))).toHaveLength(1);
    expect(await migrate(url)).toEqual([]);
  });

  it("refuse a database whose applied migration has changed since", async () => {
    const url = await freshDatabase();
    await migrate(url);
    await using db = openDatabase(url);
    await db.client.$executeRaw`UPDATE "schema_migrations" SET "checksum" = 'other'`;
    await expect(migrate(url)).rejects.toThrow(/0001_initial.sql was changed/);
  });
});
