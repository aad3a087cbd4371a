// SPDX-License-Identifier: Apache-2.0
import { access } from "node:fs/promises";
import { join } from "node:path";
import { SERVICE_ENV, startService, withFreePort } from "@collimate/embedded";
import type { Service, StopStep } from "@collimate/embedded";
import { Complaint } from "../complaint.ts";
import { repositoryRoot } from "../repository.ts";
import { logPath, recordPath } from "../state/paths.ts";
import { START_DEADLINE_MS } from "./part.ts";
import type { Part, StartContext } from "./part.ts";
import { choosePort, insistOnPort } from "./port.ts";
import { serves } from "./probe.ts";

export const DEFAULT_API_PORT = 8080;

const STOP: readonly StopStep[] = [
  { signal: "SIGTERM", ms: 20_000 },
  { signal: "SIGKILL", ms: 5_000 },
];
/** The agent ends every sandbox before it goes. */
const AGENT_STOP: readonly StopStep[] = [
  { signal: "SIGTERM", ms: 60_000 },
  { signal: "SIGKILL", ms: 5_000 },
];

export const api: Part = {
  name: "api",
  stopSteps: STOP,
  probe: healthy,
  async start(context) {
    const { host, port: wanted } = context.options;
    const env = {
      DATABASE_URL: urlOf(context, "postgres"),
      REDIS_URL: urlOf(context, "redis"),
      AGENT_SECRET: context.secrets.agentSecret,
      ADMIN_TOKEN: context.secrets.adminToken,
      API_HOST: host,
    };
    const start = (port: number): Promise<Service> => startApp(context, "api", port, { ...env, API_PORT: String(port) }, { host });
    if (wanted !== undefined) return start(await insistOnPort(wanted, host));
    return withFreePort(undefined, () => choosePort([context.endpoints["api"]?.port, DEFAULT_API_PORT], host), start);
  },
};

export const scheduler: Part = {
  name: "scheduler",
  stopSteps: STOP,
  probe: healthy,
  async start(context) {
    const env = { DATABASE_URL: urlOf(context, "postgres"), REDIS_URL: urlOf(context, "redis") };
    return withFreePort(
      undefined,
      () => choosePort([context.endpoints["scheduler"]?.port]),
      (port) => startApp(context, "scheduler", port, { ...env, SCHEDULER_PORT: String(port) }),
    );
  },
};

export const agent: Part = {
  name: "agent",
  stopSteps: AGENT_STOP,
  probe: healthy,
  async start(context) {
    const registry = new URL(urlOf(context, "registry"));
    const env = {
      REDIS_URL: urlOf(context, "redis"),
      AGENT_SECRET: context.secrets.agentSecret,
      AGENT_HOST: "127.0.0.1",
      AGENT_STATE: context.paths.agent,
      AGENT_SOCKET: join(context.paths.run, "agent.sock"),
      NODE_ID: context.secrets.nodeId,
      // Our own registry speaks plain HTTP on the loopback.
      REGISTRY_INSECURE_HOSTS: registry.host,
      AGENT_SNAPSHOT_REGISTRY: `${registry.host}/collimate/snapshots`,
    };
    // Its mounts are its own: nothing that it mounts is seen, or left, on the host. unshare(1) becomes the program.
    const wrapper = ["/usr/bin/unshare", "--mount", "--propagation", "private", "--"];
    return withFreePort(
      undefined,
      () => choosePort([context.endpoints["agent"]?.port]),
      (port) => startApp(context, "agent", port, { ...env, AGENT_PORT: String(port) }, { wrapper }),
    );
  },
};

/** Settings of the caller's that a service may need to reach the outside, or that say what sandboxes may reach. */
const PASSED_ON = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "LOG_LEVEL",
  "AGENT_NETWORK_OPEN",
  "AGENT_NETWORK_RESOLVER",
  "AGENT_NETWORK_UPLINK",
  "HOME",
];

async function startApp(
  context: StartContext,
  name: string,
  port: number,
  env: Record<string, string>,
  { wrapper = [], host = "127.0.0.1" }: { wrapper?: readonly string[]; host?: string } = {},
): Promise<Service> {
  const root = repositoryRoot();
  const main = join(root, "apps", name, "src", "main.ts");
  await access(main).catch((cause: unknown) => {
    throw new Complaint(`${main} is missing`, { hint: "The checkout is not complete.", cause });
  });
  const passedOn = Object.fromEntries(PASSED_ON.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key]]])));
  const [program, ...args] = [...wrapper, process.execPath, main];
  const endpoint = { url: `http://${reachable(host)}:${port}`, port };
  return startService(
    {
      name,
      ...endpoint,
      spec: {
        argv: [program ?? process.execPath, ...args],
        cwd: root,
        env: {
          ...SERVICE_ENV,
          ...passedOn,
          NODE_ENV: "production",
          COLLIMATE_TOOLS: process.env["COLLIMATE_TOOLS"] ?? "/var/cache/collimate",
          ...env,
        },
      },
      stopSteps: STOP,
      probe: () => healthy(endpoint),
    },
    {
      dir: context.paths.root,
      lifetime: "detached",
      record: recordPath(context.paths, name),
      log: logPath(context.paths, name),
      deadlineMs: START_DEADLINE_MS,
    },
  );
}

/** Where to call a server that listens on an address: "all addresses" is none that can be called. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

function healthy({ url }: { url: string }): Promise<void> {
  return serves(`${url}/healthz`);
}

function urlOf({ endpoints }: StartContext, part: string): string {
  const endpoint = endpoints[part];
  if (endpoint === undefined) throw new Error(`${part} is not started`);
  return endpoint.url;
}
