// SPDX-License-Identifier: Apache-2.0
/** Ties the agent's parts together on a real host: tools, cgroups, mechanism daemon, engine. */
import { join } from "node:path";
import { probe } from "@collimate/criu";
import { Cgroups, Hostd } from "@collimate/host";
import { readHostFacts } from "@collimate/snapshot";
import type { Logger } from "@collimate/telemetry";
import pLimit from "p-limit";
import { Baker } from "./bake/bake.ts";
import type { AgentConfig } from "./config.ts";
import { Engine } from "./engine.ts";
import { Holders } from "./holder/holders.ts";
import { ensureGuestLayer, guestBuilds } from "./image/guest-layer.ts";
import { RootfsStore } from "./image/rootfs-store.ts";
import { Network } from "./network/network.ts";
import { hostResolver } from "./network/resolver.ts";
import type { AgentPaths } from "./paths.ts";
import { reconcile } from "./reconcile.ts";
import { ActivityLog } from "./sandbox/activity.ts";
import { Creator } from "./sandbox/create.ts";
import { Ender } from "./sandbox/end.ts";
import { Forker } from "./sandbox/fork.ts";
import { SandboxRegistry } from "./sandbox/registry.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import { Starter } from "./sandbox/start.ts";
import { Suspender } from "./sandbox/suspend.ts";
import { Slots } from "./slot/slots.ts";
import { Artifacts } from "./snapshot/artifacts.ts";
import { Budget } from "./snapshot/budget.ts";
import { openRegistry } from "./snapshot/open-registry.ts";
import { SnapshotStore } from "./snapshot/store.ts";
import { SnapshotTaker } from "./snapshot/take.ts";

/** Told at once of a sandbox that ended without having been asked to. `cleared`: nothing of it is left on the node. */
export type ExitListener = (sandbox: Sandbox, reason: string, cleared: Promise<unknown>) => Promise<void>;

export interface AgentNode {
  readonly engine: Engine;
  readonly criuVersion: string;
  readonly cgroupVersion: "v1" | "v2";
  readonly hostdEnded: Hostd["ended"];
  onExit(listener: ExitListener): void;
  activity(): { sandboxId: string; count: number; lastAt: number }[];
  stop(): Promise<void>;
}

export async function startNode(config: AgentConfig, paths: AgentPaths, log: Logger): Promise<AgentNode> {
  const tool = (...parts: string[]) => join(config.COLLIMATE_TOOLS, ...parts);
  // Before anything is made that would have to be undone.
  const criu = await probe({ path: tool("criu", "criu") });
  if (!criu.works) throw new Error(`this host cannot checkpoint: ${criu.reason}`);
  const cgroups = await Cgroups.open({ node: config.NODE_ID });
  const rootfs = new RootfsStore(paths.rootfs, { layouts: paths.layouts, insecureHosts: config.REGISTRY_INSECURE_HOSTS });
  const snapshots: SnapshotStore = new SnapshotStore(paths, (id) => holders.retire(id));
  await reconcile(cgroups, paths, snapshots, rootfs, log);

  const holders = new Holders(criu.program, paths.run, await cgroups.create("holders", {}), log);
  const guest = await ensureGuestLayer(paths.guestLayer, tool("guest", "collimate-init"));
  const host = await readHostFacts(criu.version);
  const hostd = await Hostd.start({
    binary: tool("host", "collimate-hostd"),
    socket: join(paths.run, "hostd.sock"),
    onLog: (line) => log.warn({ hostd: line }, "mechanism daemon"),
  });

  const network = await startNetwork(config, hostd, log);

  const registry = new SandboxRegistry();
  const slots = new Slots(
    hostd.client,
    cgroups,
    { folder: paths.slots, ready: config.AGENT_SLOTS_READY, max: config.AGENT_SLOTS_MAX },
    log,
  );
  const taker = new SnapshotTaker(criu.program, host, snapshots);
  const starter = new Starter(paths, hostd, snapshots, rootfs, network);
  const ender = new Ender(hostd.client, network, slots, snapshots, registry);
  const restores = pLimit(config.AGENT_RESTORES);
  const reseedKernel = () => hostd.client.reseedKernel();
  const budget: Budget = new Budget(snapshots, config.AGENT_SNAPSHOT_BUDGET_MIB * 2 ** 20 || Infinity, (id) => artifacts.isPushed(id));
  const artifacts: Artifacts = new Artifacts({
    snapshots,
    holders,
    rootfs,
    budget,
    host: { ...host, guests: await guestBuilds(paths.guestLayer) },
    registry: openRegistry(config),
    quietMs: config.AGENT_SNAPSHOT_QUIET_MS,
    log,
  });
  await artifacts.load();
  const parts = { registry, slots, snapshots, artifacts, budget, holders, taker, starter, ender, restores, reseedKernel, log };
  const engine = new Engine({
    ...parts,
    baker: new Baker({ ...parts, paths, hostd, network, rootfs, guest }),
    creator: new Creator(parts),
    forker: new Forker(parts),
    suspender: new Suspender(parts),
  });
  await slots.fill();

  let tellExit: ExitListener = async () => {};
  registry.onAdd((sandbox) => {
    void sandbox.watch.ended
      .then(async (how) => {
        if (how !== "exited" || sandbox.ending) return;
        const reason = await whyItEnded(sandbox);
        log.warn({ sandboxId: sandbox.id, reason }, "a sandbox ended by itself");
        const cleared = ender.end(sandbox);
        await Promise.all([cleared, tellExit(sandbox, reason, cleared)]);
      })
      .catch((err: unknown) => log.error({ err, sandboxId: sandbox.id }, "its end could not be handled"));
  });
  const activity = new ActivityLog(registry);

  return {
    engine,
    criuVersion: criu.version,
    cgroupVersion: cgroups.layout.version === 1 ? "v1" : "v2",
    hostdEnded: hostd.ended,
    onExit: (listener) => (tellExit = listener),
    activity: () => activity.take(),
    stop: async () => {
      await engine.stop();
      await network.close();
      await hostd.stop();
      await cgroups.close().catch((err: unknown) => log.warn({ err }, "control groups stay"));
    },
  };
}

async function startNetwork(config: AgentConfig, hostd: Hostd, log: Logger): Promise<Network> {
  const resolver = config.AGENT_NETWORK_RESOLVER ?? (await hostResolver());
  const request = {
    open: config.AGENT_NETWORK_OPEN,
    ...(config.AGENT_NETWORK_UPLINK === undefined ? {} : { uplink: config.AGENT_NETWORK_UPLINK }),
    ...(resolver === undefined ? {} : { resolver }),
  };
  const network = new Network(hostd.client, request, log);
  // A host without nftables has nothing to sweep; the first sandbox that wants a network is told.
  await network.sweep().catch((err: unknown) => log.warn({ err }, "no sandbox can have a network"));
  return network;
}

async function whyItEnded(sandbox: Sandbox): Promise<string> {
  const usage = await sandbox.slot.group.usage().catch(() => undefined);
  return usage && usage.oomKills > 0 ? "its memory was full and the kernel ended it" : "its init ended";
}
