// SPDX-License-Identifier: Apache-2.0
import { inject, expect, test, describe, vi } from "vitest";
import { CLOSED, HOST, OPENED, SERVER } from "./engine/outside.ts";
import { run } from "./engine/programs.ts";
import { Sandbox } from "./engine/sandbox.ts";
import { expectTrue, startProgram, verdictOf } from "./scenario.ts";

/** What the servers outside have seen of the streams. */
async function seenOutside(): Promise<{ peer: string; received: number; end: string; fault: string }[]> {
  const read = "import socket; print(socket.create_connection(('127.0.0.1', 7001)).makefile().read())";
  return JSON.parse(await run("nsenter", ["-t", String(inject("outsidePid")), "-n", "python3", "-c", read]));
}

const inNetOfEngine = (...command: string[]) => run("nsenter", ["-t", String(inject("enginePid")), "-n", ...command]);

/** What sandboxes that live have for addresses on the host. */
async function outerAddresses(): Promise<string[]> {
  const listed = await inNetOfEngine("nft", "list", "map", "ip", "collimate", "outer");
  return [...listed.matchAll(/"col\d+" : ([\d.]+)/g)].map(([, address = ""]) => address);
}

/** How a connection attempt from inside ends: "open", or the error's name. */
const attempt = (sandbox: Sandbox, host: string, port = 7003): Promise<string> =>
  sandbox
    .exec({
      code: `import socket\ntry:\n  socket.create_connection(('${host}', ${port}), timeout=8)\n  print('open', end='')\nexcept OSError as error:\n  print(type(error).__name__, end='')`,
    })
    .then(({ stdout }) => stdout);

describe("a connection to the outside", () => {
  test("is kept to the byte in the parent, over forks under load, and closed in children, which make new ones", async () => {
    const before = (await seenOutside()).length;
    await using parent = await Sandbox.createNetworked();
    await startProgram(parent, { program: "outgoing_tcp.py" });
    for (const round of [1, 2, 3, 4, 5]) {
      const children = await parent.fork(2);
      const verdicts = await Promise.all(children.map((child, index) => verdictOf(child, `round-${round}-${index}`)));
      expect(verdicts).toEqual(children.map((_, index) => `round-${round}-${index}: ok`));
    }
    expect(await verdictOf(parent, "parent")).toBe("parent: ok");
    const streams = (await seenOutside()).slice(before);
    expect(streams.map(({ end, fault }) => ({ end, fault }))).toEqual(Array.from({ length: 4 }, () => ({ end: "closed", fault: "" })));
  });

  test("by UDP, bound or connected, goes on in each for itself", () => expectTrue({ program: "outgoing_udp.py", network: true }));

  test("of a git clone half done ends well in the parent and with git's own error in children", () =>
    expectTrue({ program: "git_clone.py", network: true }));
});

describe("a declared port", () => {
  test("leads into its own sandbox, with the same number in each", async () => {
    await using parent = await Sandbox.createNetworked();
    await startProgram(parent, { program: "ports.py" });
    const children = await parent.fork(4);
    const all = [["parent", parent] as const, ...children.map((child, index) => [`child-${index}`, child] as const)];
    for (const [name, sandbox] of all) expect(await verdictOf(sandbox, name)).toBe(`${name}: ok`);
    for (const port of [8080, 8081, 8082]) {
      const answers = await Promise.all(all.map(([name, sandbox]) => sandbox.sayTo(port, `to ${name}\n`)));
      expect(answers).toEqual(all.map(([name]) => `${name} ${port} to ${name}`));
    }
    await expect(parent.sayTo(9000, "")).rejects.toThrow(/port 9000 is not declared/);
  });
});

describe("from inside", () => {
  test("the outside and what the operator opened can be reached, the host, private ranges and siblings cannot", async () => {
    await using parent = await Sandbox.createNetworked();
    await startProgram(parent, { program: "ports.py" });
    const [child] = await parent.fork(1);
    if (!child) throw new Error("no child");
    for (const sandbox of [parent, child]) {
      for (const host of [SERVER, OPENED, "server.test"]) expect(`${host} ${await attempt(sandbox, host)}`).toBe(`${host} open`);
      for (const host of [HOST, "169.254.1.1", ...CLOSED])
        expect(`${host} ${await attempt(sandbox, host)}`).toBe(`${host} ConnectionRefusedError`);
      const addresses = await outerAddresses();
      expect(addresses).toHaveLength(2);
      for (const address of addresses) expect(await attempt(sandbox, address, 8080)).toBe("ConnectionRefusedError");
    }
  });

  test("there is loopback alone when the template declares no network", async () => {
    await using sandbox = await Sandbox.create();
    expect(await sandbox.shell("ls /sys/class/net 2>/dev/null || cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '")).toBe("lo\n");
    expect(await attempt(sandbox, SERVER)).toBe("OSError");
  });
});

test("nothing of a network is left on the host when its sandboxes have ended", async () => {
  const links = () => inNetOfEngine("ip", "-brief", "link");
  {
    await using parent = await Sandbox.createNetworked();
    await parent.fork(8);
    expect((await links()).match(/^col/gm)?.length).toBeGreaterThanOrEqual(9);
    expect(await outerAddresses()).toHaveLength(9);
  }
  expect(await outerAddresses()).toEqual([]);
  await vi.waitFor(async () => expect(await links()).not.toMatch(/^col/m), { timeout: 10_000, interval: 50 });
});
