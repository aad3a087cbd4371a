// SPDX-License-Identifier: Apache-2.0
import { newId } from "@collimate/contracts";
import { describe, expect, it } from "vitest";
import { failureOf, RESOURCES } from "./node/platform.ts";
import { sharedNode } from "./node/shared-node.ts";

const node = sharedNode();

describe("suspend and resume", () => {
  it("keep memory, files, processes and the working folder; nothing of it lives in between", async () => {
    const { platform } = node;
    const sandboxId = await platform.create(node.template);
    await platform.python(
      sandboxId,
      "import os\nos.makedirs('/work'); os.chdir('/work')\ndata = os.urandom(3_000_000)\nopen('file', 'wb').write(data)\nimport subprocess\nchild = subprocess.Popen(['cat'], stdin=-1, stdout=-1)",
    );
    const digest = await platform.python(sandboxId, "import hashlib; print(hashlib.sha256(data).hexdigest())");

    const snapshotId = newId("snapshot");
    await platform.run({ kind: "suspend", ...platform.base(), sandboxId, snapshotId });
    expect((await failureOf(platform.shell(sandboxId, "true"))).code).toBe("not_found");
    expect((await node.footprint()).watched).toEqual([]);

    await platform.run({ kind: "resume", ...platform.base(), sandboxId, snapshotId, resources: RESOURCES });
    expect(
      await platform.python(
        sandboxId,
        "print(hashlib.sha256(data).hexdigest()); print(hashlib.sha256(open('file', 'rb').read()).hexdigest())",
      ),
    ).toBe(digest + digest);
    expect(await platform.python(sandboxId, "print(os.getcwd()); print(child.communicate(b'through the same pipe')[0].decode())")).toBe(
      "/work\nthrough the same pipe\n",
    );
    await platform.delete(sandboxId);
  });

  it("of a forked child, twice, keep what its parents left it", async () => {
    const { platform } = node;
    const parent = await platform.create(node.template);
    await platform.python(parent, "open('/from-parent', 'w').write('p'); x = 1");
    const [child = ""] = await platform.fork(parent, 1);
    await platform.delete(parent);
    for (const round of [1, 2]) {
      await platform.python(child, `x += 1; open('/round-${round}', 'w').write('${round}')`);
      const snapshotId = newId("snapshot");
      await platform.run({ kind: "suspend", ...platform.base(), sandboxId: child, snapshotId });
      await platform.run({ kind: "resume", ...platform.base(), sandboxId: child, snapshotId, resources: RESOURCES });
    }
    expect(await platform.python(child, "print(x)")).toBe("3\n");
    expect(await platform.shell(child, "cat /from-parent /round-1 /round-2")).toBe("p12");
    await platform.delete(child);
  });
});
