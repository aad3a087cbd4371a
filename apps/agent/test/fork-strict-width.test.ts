// SPDX-License-Identifier: Apache-2.0
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf, sandboxIds } from "./node/platform.ts";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();

describe("a fork of which one child cannot be started", () => {
  it("leaves no child, says which one and why, and the parent can be forked again", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    await platform.python(parent, "kept = 'by the parent'");
    const before = await node.restingFootprint();

    const children = sandboxIds(5);
    // A plain file stands where the third child's folder must be made.
    const obstacle = join(platform.node.state, "sandboxes", children[2] ?? "");
    await writeFile(obstacle, "in the way");
    const failure = await failureOf(platform.run(platform.forkJob(parent, children)));
    await rm(obstacle);
    expect(failure.code).toBe("fork_failed");
    expect(failure.message).toMatch(/child 2 of 5 could not be started: .*(ENOTDIR|EEXIST)/);
    for (const child of children) expect((await failureOf(platform.shell(child, "true"))).code).toBe("not_found");
    await node.settlesAt(before);

    const again = await platform.fork(parent, 5);
    const answers = await Promise.all(again.map((child) => platform.python(child, "print(kept)")));
    expect(answers).toEqual(Array.from({ length: 5 }, () => "by the parent\n"));
    await platform.delete(...again, parent);
  });

  it("of a group that the node has no slots for, starts none", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    const before = await node.restingFootprint();
    const failure = await failureOf(platform.run(platform.forkJob(parent, sandboxIds(3_000))));
    expect(failure).toMatchObject({ code: "at_capacity", message: expect.stringContaining("3000 are asked for") });
    await node.settlesAt(before);
    await platform.delete(parent);
  });
});
