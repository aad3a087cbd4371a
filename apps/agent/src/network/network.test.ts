// SPDX-License-Identifier: Apache-2.0
import { mkdtempDisposable, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolsDirectory } from "@collimate/embedded";
import { Hostd } from "@collimate/host";
import { createLogger } from "@collimate/telemetry";
import { describe, expect, it } from "vitest";
import { claimNetwork } from "./claim.ts";
import { wantsNetwork } from "./egress.ts";
import { Network, outerAddress } from "./network.ts";
import { serverOf, writeResolvConf } from "./resolver.ts";

describe("the address of a sandbox on its host", () => {
  it("is another for each of four million, all within 100.64.0.0/10", () => {
    expect([1, 2, 255, 256, 4_194_302].map(outerAddress)).toEqual([
      "100.64.0.1",
      "100.64.0.2",
      "100.64.0.255",
      "100.64.1.0",
      "100.127.255.254",
    ]);
    expect(outerAddress(4_194_303)).toBe("100.64.0.1");
  });
});

describe("a cable that cannot be forgotten", () => {
  it("does not keep its sandbox from being ended", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "collimate-network-"));
    const hostd = await Hostd.start({
      binary: join(toolsDirectory(), "host", "collimate-hostd"),
      socket: join(folder.path, "hostd.sock"),
    });
    const network = new Network(hostd.client, {}, createLogger({ service: "test", level: "silent" }));
    await hostd.stop();
    await expect(hostd.client.detachNetwork(["col1"])).rejects.toMatchObject({ code: "lost" });
    await Promise.all(Array.from({ length: 40 }, (_, index) => network.detach(`col${index}`)));
    await network.detach("col41");
  });
});

describe("the claim on a host's network", () => {
  it("is one agent's at a time, and free again when that lets go", async () => {
    const name = `collimate-network-test-${process.pid}`;
    const first = await claimNetwork({ name, waitMs: 0 });
    expect(first).toBeDefined();
    expect(await claimNetwork({ name, waitMs: 0 })).toBeUndefined();
    const waiting = claimNetwork({ name, waitMs: 10_000 });
    await first?.release();
    const second = await waiting;
    expect(second).toBeDefined();
    await second?.release();
  });
});

describe("the name server of sandboxes", () => {
  it.each([
    ["# none\nsearch example.org\n", undefined],
    ["nameserver 127.0.0.53\noptions edns0\n", undefined],
    ["nameserver ::1\nnameserver 127.0.0.1\n  nameserver   192.0.2.7 \n", "192.0.2.7"],
  ])("is the first that is not on the loopback: %j", (text, server) => expect(serverOf(text)).toBe(server));

  it("is found inside at the gateway", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "collimate-resolver-"));
    await writeResolvConf(folder.path);
    expect(await readFile(join(folder.path, "etc/resolv.conf"), "utf8")).toBe("nameserver 169.254.1.1\n");
    expect(await readdir(folder.path)).toEqual(["etc"]);
    expect((await stat(join(folder.path, "etc"))).mode & 0o777).toBe(0o755);
  });
});

describe("a sandbox", () => {
  it("has an interface when its template has one and its policy lets it", () => {
    expect([wantsNetwork(true, null), wantsNetwork(true, { mode: "open" })]).toEqual([true, true]);
    expect([wantsNetwork(true, { mode: "none" }), wantsNetwork(false, null), wantsNetwork(false, { allow: ["x"] })]).toEqual([
      false,
      false,
      false,
    ]);
    expect(() => wantsNetwork(true, { allow: ["example.org"] })).toThrow(/no policies but open and none/);
  });
});
