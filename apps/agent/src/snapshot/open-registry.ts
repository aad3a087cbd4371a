// SPDX-License-Identifier: Apache-2.0
import { Repository } from "@collimate/snapshot";
import type { AgentConfig } from "../config.ts";
import type { ArtifactParts } from "./artifacts.ts";

/** The repository of this node's configuration, if it names one. */
export function openRegistry(config: AgentConfig): ArtifactParts["registry"] {
  const address = config.AGENT_SNAPSHOT_REGISTRY;
  if (address === "") return undefined;
  const insecure = config.REGISTRY_INSECURE_HOSTS.includes(address.split("/")[0] ?? "");
  const user = config.AGENT_SNAPSHOT_REGISTRY_USER;
  const credentials = user === "" ? {} : { credentials: { user, password: config.AGENT_SNAPSHOT_REGISTRY_PASSWORD } };
  return { address, repository: new Repository({ address, insecure, ...credentials }) };
}
