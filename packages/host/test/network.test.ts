// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { NetworkRequest, ProcessRef } from "../src/index.ts";
import { eventually, withHost, type TestHost } from "./host-fixture.ts";

// A small world of network namespaces: the "host" that the daemon lives in, an "internet" behind its uplink, and
// processes in namespaces of their own in the place of sandboxes. None of it touches this machine's own network.
let world: ChildProcess[] = [];

const inNetOf = (pid: number, ...command: string[]) =>
  execFileSync("nsenter", ["-t", `${pid}`, "-n", "--", ...command], { encoding: "utf8" });

async function namespace(): Promise<ProcessRef> {
  const child = spawn("unshare", ["--net", "sh", "-c", "echo made; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  world.push(child);
  if (!child.stdout || !child.pid) throw new Error("no process");
  await once(child.stdout, "data");
  const [, rest = ""] = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(/\) /);
  return { pid: child.pid, startTime: Number(rest.split(" ")[19]) };
}

/** Answers each TCP connection and each UDP packet with the caller's address, as it is seen out there. */
const echoServer = `
import re, socket, subprocess, threading
tcp = socket.create_server(("0.0.0.0", 80), backlog=100)
def answer_udp(udp):
    while True:
        data, peer = udp.recvfrom(2000)
        udp.sendto(peer[0].encode() + b" " + data, peer)
# One for each address, so that the answer comes from the one that was asked.
for address in re.findall("inet ([0-9.]+)", subprocess.check_output(["ip", "-4", "address"], text=True)):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    threading.Thread(target=answer_udp, args=(udp,), daemon=True).start()
print("serving", flush=True)
while True:
    connection, peer = tcp.accept()
    size = 0
    while data := connection.recv(65536):
        size += len(data)
    connection.sendall(f"{peer[0]} {size}".encode())
    connection.close()
`;

const tcpClient = `
import socket, sys
s = socket.socket()
s.settimeout(3)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 4444))
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
    s.sendall(b"x" * 3_000_000)
    s.shutdown(1)
    print(s.recv(100).decode(), s.getsockname()[0])
except OSError as error:
    print(type(error).__name__)
`;

const udpClient = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.bind(("10.0.0.2", 5555))
s.connect(("203.0.113.1", 53))
s.send(b"hello")
print(s.recv(100).decode())
`;

const connectFrom = (sandbox: ProcessRef, host: string, port = 80) =>
  inNetOf(sandbox.pid, "python3", "-c", tcpClient, host, `${port}`).trim();

async function internet(host: TestHost): Promise<ProcessRef> {
  const outside = await namespace();
  inNetOf(host.hostd.pid, "ip", "link", "add", "up0", "type", "veth", "peer", "name", "isp", "netns", `${outside.pid}`);
  inNetOf(host.hostd.pid, "ip", "address", "add", "203.0.113.2/24", "dev", "up0");
  inNetOf(host.hostd.pid, "ip", "link", "set", "up0", "up");
  inNetOf(host.hostd.pid, "ip", "route", "add", "default", "via", "203.0.113.1");
  inNetOf(outside.pid, "ip", "address", "add", "203.0.113.1/24", "dev", "isp");
  for (const address of ["10.9.9.9/32", "169.254.169.254/32", "192.168.5.5/32"])
    // refused ones, that do answer
    inNetOf(outside.pid, "ip", "address", "add", address, "dev", "isp");
  for (const device of ["isp", "lo"]) inNetOf(outside.pid, "ip", "link", "set", device, "up");
  const server = spawn("nsenter", ["-t", `${outside.pid}`, "-n", "python3", "-c", echoServer], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  world.push(server);
  if (!server.stdout) throw new Error("no server");
  await once(server.stdout, "data");
  return outside;
}

beforeEach(() => {
  world = [];
});

afterEach(async () => {
  for (const child of world) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
});

const withNetwork = (
  run: (host: TestHost, uplink: { uplink: string; forwardingWas: boolean }) => Promise<void>,
  request: NetworkRequest = {},
) =>
  withHost(
    async (host) => {
      await internet(host);
      const network = await host.hostd.client.initNetwork(request);
      await run(host, network);
      await host.hostd.client.finishNetwork(network);
      expect(inNetOf(host.hostd.pid, "nft", "list", "tables")).toBe("");
      const forwarding = "/proc/sys/net/ipv4/conf/up0/forwarding";
      expect(inNetOf(host.hostd.pid, "cat", forwarding)).toBe("0\n");
    },
    { launcher: ["unshare", "--net", "--mount", "--propagation", "private"] },
  );

describe("a sandbox with a network", () => {
  test("reaches the internet from the same inner address and port as its siblings, at the same time", async () => {
    await withNetwork(async (host, network) => {
      expect(network).toEqual({ uplink: "up0", forwardingWas: false });
      for (const number of [1, 2, 3]) {
        const sandbox = await namespace();
        await host.hostd.client.attachNetwork(sandbox, { name: `col${number}`, outer: `100.64.7.${number}` });
        expect(connectFrom(sandbox, "203.0.113.1")).toBe("203.0.113.2 3000000 10.0.0.2");
        expect(inNetOf(sandbox.pid, "python3", "-c", udpClient)).toBe("203.0.113.2 hello\n");
      }
    });
  });

  test("reaches neither private ranges, nor metadata, nor the host, nor a sibling", async () => {
    await withNetwork(async (host) => {
      const [one, two] = [await namespace(), await namespace()];
      await host.hostd.client.attachNetwork(one, { name: "col1", outer: "100.64.0.1" });
      await host.hostd.client.attachNetwork(two, { name: "col2", outer: "100.64.0.2" });
      for (const pid of [two.pid, host.hostd.pid]) {
        const listener = spawn("nsenter", ["-t", `${pid}`, "-n", "python3", "-c", echoServer], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        world.push(listener);
        if (listener.stdout) await once(listener.stdout, "data");
      }
      expect(connectFrom(one, "203.0.113.1")).toMatch(/^203\.0\.113\.2 /); // the rules do let the rest pass
      for (const closed of ["10.9.9.9", "169.254.169.254", "192.168.5.5", "100.64.0.2", "203.0.113.2", "169.254.1.1"])
        expect(`${closed} ${connectFrom(one, closed)}`).toBe(`${closed} ConnectionRefusedError`);
    });
  });

  test("reaches a private range that is opened, and a resolver in a closed one, at the gateway alone", async () => {
    await withNetwork(
      async (host) => {
        const sandbox = await namespace();
        await host.hostd.client.attachNetwork(sandbox, { name: "col1", outer: "100.64.0.1" });
        expect(connectFrom(sandbox, "192.168.5.5")).toBe("203.0.113.2 3000000 10.0.0.2");
        expect(connectFrom(sandbox, "10.9.9.9")).toBe("ConnectionRefusedError");
        const ask = (address: string) => inNetOf(sandbox.pid, "python3", "-c", udpClient.replace("203.0.113.1", address));
        expect(ask("169.254.1.1")).toBe("203.0.113.2 hello\n");
        expect(() => ask("10.9.9.9")).toThrow(/TimeoutError/);
      },
      { open: ["192.168.5.5/32", "192.168.6.0/24"], resolver: "10.9.9.9" },
    );
  });

  test("of an agent that was killed is swept away, as often as asked", async () => {
    await withNetwork(async (host) => {
      const sandboxes = [await namespace(), await namespace()];
      for (const [index, sandbox] of sandboxes.entries())
        await host.hostd.client.attachNetwork(sandbox, { name: `col${index}`, outer: `100.64.0.${index + 1}` });
      await host.hostd.client.sweepNetwork();
      await host.hostd.client.sweepNetwork();
      expect(inNetOf(host.hostd.pid, "ip", "-brief", "link")).not.toMatch(/^col/m);
      expect(inNetOf(host.hostd.pid, "ip", "-brief", "link")).toMatch(/^up0/m);
      expect(inNetOf(host.hostd.pid, "nft", "list", "tables")).toBe("");
    });
  });

  test("cannot speak with another address than its own", async () => {
    await withNetwork(async (host) => {
      const sandbox = await namespace();
      await host.hostd.client.attachNetwork(sandbox, { name: "col1", outer: "100.64.0.1" });
      inNetOf(sandbox.pid, "ip", "address", "add", "100.64.0.9/32", "dev", "lo");
      inNetOf(sandbox.pid, "ip", "route", "replace", "default", "via", "169.254.1.1", "dev", "eth0", "onlink", "src", "100.64.0.9");
      expect(connectFrom(sandbox, "203.0.113.1")).toBe("TimeoutError");
    });
  });

  test("keeps its connections when a new agent loads the rules again", async () => {
    await withNetwork(async (host) => {
      const sandbox = await namespace();
      await host.hostd.client.attachNetwork(sandbox, { name: "col1", outer: "100.64.0.1" });
      expect(await host.hostd.client.initNetwork({ uplink: "up0" })).toEqual({ uplink: "up0", forwardingWas: true });
      expect(connectFrom(sandbox, "203.0.113.1")).toMatch(/^203\.0\.113\.2 /);
    });
  });

  test("leaves nothing when it has ended, or was never made whole", async () => {
    await withNetwork(async (host) => {
      const sandbox = await namespace();
      const links = () => inNetOf(host.hostd.pid, "ip", "-brief", "link");
      const addresses = () => inNetOf(host.hostd.pid, "nft", "list", "map", "ip", "collimate", "outer");
      const { client } = host.hostd;
      await client.attachNetwork(sandbox, { name: "col1", outer: "100.64.0.1" });
      await expect(client.attachNetwork(sandbox, { name: "col1", outer: "100.64.0.2" })).rejects.toMatchObject({
        code: "conflict",
      });
      const other = await namespace();
      await expect(client.attachNetwork(other, { name: "col2", outer: "100.64.0.1" })).rejects.toMatchObject({
        code: "conflict", // its address is taken
      });
      expect(links()).not.toMatch(/col2/);
      expect(addresses()).toMatch(/"col1" : 100\.64\.0\.1/);
      process.kill(sandbox.pid, "SIGKILL");
      await eventually(() => expect(links()).not.toMatch(/col1/));
      await client.detachNetwork(["col1", "col77"]);
      await client.detachNetwork(["col1", "col77"]);
      expect(addresses()).not.toMatch(/col1/);
      await expect(client.attachNetwork(sandbox, { name: "col3", outer: "100.64.0.3" })).rejects.toMatchObject({
        code: "gone",
      });
    });
  });
});

test("net.init names an uplink that is missing, and one that does not exist", async () => {
  await withHost(
    async ({ hostd: { client } }) => {
      await expect(client.initNetwork()).rejects.toThrow(/no default route/);
      await expect(client.initNetwork({ uplink: "nope0" })).rejects.toThrow(/no network device "nope0"/);
      await expect(client.initNetwork({ uplink: 'x";drop' })).rejects.toThrow(/odd characters/);
    },
    { launcher: ["unshare", "--net", "--mount", "--propagation", "private"] },
  );
});
