// SPDX-License-Identifier: Apache-2.0
/** The agent's configuration: environment only, checked once, everything wrong named at once. */
import { cpus, totalmem } from "node:os";
import { idSchema } from "@collimate/contracts";
import { z } from "zod";

const port = z.coerce.number().int().min(0).max(65_535);

const list = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((entry) => entry.trim())
      .filter(Boolean),
  );
const unsetIfEmpty = <S extends z.ZodType>(schema: S) => z.preprocess((value) => (value === "" ? undefined : value), schema.optional());

const configSchema = z.object({
  NODE_ID: idSchema,
  REDIS_URL: z.string().min(1),
  /** Shared with the api: it signs the tokens of exec requests. */
  AGENT_SECRET: z.string().min(32, "at least 32 characters"),
  AGENT_HOST: z.string().default("127.0.0.1"),
  AGENT_PORT: port.default(0),
  /** How the api reaches this agent; default: host and port above. */
  AGENT_URL: z.string().optional(),
  /** Folder for images, snapshots and writable layers; a local file system. */
  AGENT_STATE: z.string().startsWith("/"),
  /** Unix socket of the daemon surface; empty: none. */
  AGENT_SOCKET: z.union([z.literal(""), z.string().startsWith("/")]).default(""),
  /** The same surface on TCP, for trainers on this node; it has no keys. Unset or empty: none. 0: any free port. */
  AGENT_DAEMON_PORT: unsetIfEmpty(port),
  AGENT_DAEMON_HOST: z.string().min(1).default("127.0.0.1"),
  /** Execs at once on that surface; the rest waits in line. */
  AGENT_SESSION_EXECS: z.coerce.number().int().min(1).max(4_096).default(256),
  /** A session of that surface without an exec for this long is ended; 0: never. */
  AGENT_SESSION_IDLE_S: z.coerce
    .number()
    .min(0)
    .max(30 * 86_400)
    .default(1_800),
  /** Where the built programs are: criu/criu, guest/collimate-init, host/collimate-hostd. */
  COLLIMATE_TOOLS: z.string().startsWith("/").default("/var/cache/collimate"),
  /** Registries that speak plain http, separated by commas, as host:port. */
  REGISTRY_INSECURE_HOSTS: list,
  /** Repository (host[:port]/name) that templates are pushed to and pulled from. Empty: each node has only its own. */
  AGENT_SNAPSHOT_REGISTRY: z.string().default(""),
  AGENT_SNAPSHOT_REGISTRY_USER: z.string().default(""),
  AGENT_SNAPSHOT_REGISTRY_PASSWORD: z.string().default(""),
  /** A push waits until nothing was restored or taken here for so long. */
  AGENT_SNAPSHOT_QUIET_MS: z.coerce.number().int().min(0).max(3_600_000).default(30_000),
  /** Most disk for templates and suspended sandboxes; 0: what the disk has. Images are not counted. */
  AGENT_SNAPSHOT_BUDGET_MIB: z.coerce.number().int().min(0).default(0),
  /** Most memory for the process images of forks; 0: half of the host's. */
  AGENT_MEMORY_MIB: z.coerce.number().int().min(0).default(0),
  /** Slots kept prepared, and the most sandboxes at once. */
  AGENT_SLOTS_READY: z.coerce.number().int().min(0).max(4_096).default(72),
  AGENT_SLOTS_MAX: z.coerce.number().int().min(1).max(32_768).default(2_048),
  /** Restores at a time: four per core was the quickest on 2 cores. */
  AGENT_RESTORES: z.coerce
    .number()
    .int()
    .min(1)
    .max(256)
    .default(4 * cpus().length),
  /** The device that sandboxes with a network reach the outside by. Unset or empty: that of the default route. */
  AGENT_NETWORK_UPLINK: unsetIfEmpty(z.string().max(15)),
  /** Private ranges that sandboxes may reach all the same, as 10.1.0.0/16, separated by commas. */
  AGENT_NETWORK_OPEN: list.pipe(z.array(z.cidrv4()).max(32)),
  /** The name server that answers sandboxes. Unset or empty: the host's, unless that is on its loopback. */
  AGENT_NETWORK_RESOLVER: unsetIfEmpty(z.ipv4()),
  /** Memory never given to sandboxes. */
  AGENT_RESERVE_MIB: z.coerce
    .number()
    .int()
    .min(0)
    .default(Math.min(2_048, Math.round(totalmem() / 2 ** 20 / 10))),
  HEARTBEAT_MS: z.coerce.number().int().min(100).max(60_000).default(2_000),
  LOG_LEVEL: z.string().default("info"),
});
export type AgentConfig = z.infer<typeof configSchema>;

export function readConfig(env: NodeJS.ProcessEnv): AgentConfig {
  const parsed = configSchema.safeParse(env);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`the agent's configuration is wrong:\n${wrong.join("\n")}`);
}
