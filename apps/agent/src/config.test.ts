// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

const RIGHT = { NODE_ID: "node_1", REDIS_URL: "redis://127.0.0.1", AGENT_SECRET: "s".repeat(32), AGENT_STATE: "/var/lib/collimate/agent" };

describe("the agent's configuration", () => {
  it("needs four settings and has a default for each other", () => {
    expect(readConfig(RIGHT)).toMatchObject({
      AGENT_HOST: "127.0.0.1",
      AGENT_SOCKET: "",
      AGENT_DAEMON_HOST: "127.0.0.1",
      AGENT_SESSION_IDLE_S: 1_800,
      COLLIMATE_TOOLS: "/var/cache/collimate",
      REGISTRY_INSECURE_HOSTS: [],
    });
    expect(readConfig(RIGHT).AGENT_DAEMON_PORT).toBeUndefined();
  });

  it("tells everything that is wrong at once, by name, and repeats no value", () => {
    const wrong = {
      NODE_ID: "../x",
      AGENT_SECRET: "too short a secret",
      AGENT_STATE: "relative",
      AGENT_PORT: "70000",
      AGENT_SOCKET: "relative.sock",
      HEARTBEAT_MS: "soon",
    };
    const message = () => readConfig(wrong);
    expect(message).toThrow(
      /NODE_ID[^]*REDIS_URL[^]*AGENT_SECRET: at least 32 characters[^]*AGENT_PORT[^]*AGENT_STATE[^]*AGENT_SOCKET[^]*HEARTBEAT_MS/,
    );
    expect(message).not.toThrow(/too short a secret/);
  });

  it("takes lists and empty settings as a service file writes them", () => {
    expect(
      readConfig({ ...RIGHT, REGISTRY_INSECURE_HOSTS: " 127.0.0.1:5000, ,registry:80 ", AGENT_DAEMON_PORT: "" }).REGISTRY_INSECURE_HOSTS,
    ).toEqual(["127.0.0.1:5000", "registry:80"]);
    expect(readConfig({ ...RIGHT, AGENT_DAEMON_PORT: "0" }).AGENT_DAEMON_PORT).toBe(0);
  });
});
