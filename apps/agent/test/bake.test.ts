// SPDX-License-Identifier: Apache-2.0
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { failureOf } from "./node/platform.ts";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();

describe("a bake", () => {
  it("whose ready command fails leaves nothing, and tells its last words", async () => {
    const { platform } = node;
    const failure = await failureOf(platform.bake({ cmd: "echo the reason why >&2; exit 3" }));
    expect(failure).toMatchObject({ code: "bake_failed", message: expect.stringContaining("exit code 3"), detail: "the reason why" });
  });

  it("whose ready command hangs ends at its own limit", async () => {
    const { platform } = node;
    const failure = await failureOf(platform.bake({ cmd: "sleep 1000", timeout_s: 1 }));
    expect(failure).toMatchObject({ code: "bake_failed", message: expect.stringContaining("did not end within 1 s") });
  });

  it("of an image that is not there fails with the reason", async () => {
    const { platform } = node;
    const failure = await failureOf(platform.bake({}, platform.node.image.replace(/@.*/, `@sha256:${"0".repeat(64)}`)));
    expect(failure).toMatchObject({ code: "bake_failed", message: expect.stringContaining("no such repository, tag or digest") });
  });

  it("of an image that is here already unpacks nothing", async () => {
    const { platform } = node;
    const digest = platform.node.image.split("@")[1] ?? "";
    const rootfs = join(platform.node.state, "rootfs", digest.replace(":", "-"));
    const before = await stat(rootfs);
    const first = await platform.bake({ cmd: "true" });
    const second = await platform.bake({ cmd: "true" });
    const after = await stat(rootfs);
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
    for (const { templateId, snapshotId } of [first, second]) {
      await platform.run({ kind: "drop_template", ...platform.base(), templateId, snapshotIds: [snapshotId] });
    }
  });

  it("asked for again is not done again", async () => {
    const { platform, template } = node;
    const result = await platform.run({
      kind: "bake",
      ...platform.base(),
      ...template,
      image: platform.node.image,
      ready: { cmd: "exit 1" },
      resources: { vcpus: 1, memory_mib: 512, disk_mib: 512, pids: 128 },
      width: 1,
    });
    expect(result).toMatchObject({ snapshotId: template.snapshotId, bakeMode: "inherited_artifact" });
  });

  it("of a name that is none says so before any program runs", async () => {
    const { platform } = node;
    const failure = await failureOf(platform.bake({}, "--insecure-policy"));
    expect(failure).toMatchObject({ code: "bad_request", message: expect.stringContaining("is not an OCI reference") });
  });
});

describe("a template that is dropped", () => {
  it("goes when its last sandbox has gone", async () => {
    const { platform } = node;
    const template = await platform.bake({ cmd: "true" });
    const sandbox = await platform.create(template);
    await platform.run({ kind: "drop_template", ...platform.base(), templateId: template.templateId, snapshotIds: [template.snapshotId] });
    expect(await platform.shell(sandbox, "echo lives on")).toBe("lives on\n");
    expect((await node.footprint()).folders.snapshots).toContain(template.snapshotId);
    await platform.delete(sandbox);
    expect((await failureOf(platform.create({ templateId: newId("template"), snapshotId: template.snapshotId }))).code).toBe(
      "snapshot_missing",
    );
  });
});
