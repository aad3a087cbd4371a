// SPDX-License-Identifier: Apache-2.0
/** A sandbox as the tests see it. */
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import type { ExecRequest } from "@collimate/contracts";
import { inject } from "vitest";
import type { Image } from "./images.ts";
import { type Answer, answerSchema, type Ask } from "./protocol.ts";

function ask(body: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = httpRequest({ socketPath: inject("engineSocket"), method: "POST" }, (reply) => {
      text(reply).then(
        (said) => (reply.statusCode === 200 ? resolve(answerSchema.parse(JSON.parse(said))) : reject(new Error(said))),
        reject,
      );
    });
    call.once("error", reject);
    call.end(JSON.stringify(body));
  });
}

export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly #children: Sandbox[] = [];

  private constructor(id: string) {
    this.id = id;
  }

  /** From the template of this image whose ready command this is. */
  static async create(image: Image = "truth", ready = "true", network = false): Promise<Sandbox> {
    const { ids } = await ask({ verb: "create", image, ready, network });
    return new Sandbox(ids[0] ?? "");
  }

  /** With a way to the outside, and ports. */
  static createNetworked(): Promise<Sandbox> {
    return Sandbox.create("truth", "true", true);
  }

  /** The children go when this sandbox goes. */
  async fork(count: number): Promise<Sandbox[]> {
    const { ids } = await ask({ verb: "fork", id: this.id, count });
    const children = ids.map((id) => new Sandbox(id));
    this.#children.push(...children);
    return children;
  }

  /** Written to disk, ended and brought back. */
  async suspendAndResume(): Promise<void> {
    await ask({ verb: "suspend-and-resume", id: this.id });
  }

  exec(request: ExecRequest): Promise<Answer> {
    return ask({ verb: "exec", id: this.id, request });
  }

  /** Says a line to a port of its own, through the agent; gives the whole answer. */
  async sayTo(port: number, line: string): Promise<string> {
    return (await ask({ verb: "port", id: this.id, port, say: line })).stdout;
  }

  /** What the command wrote on standard output; anything but exit code 0 is an error that quotes it. */
  async shell(command: string, seconds = 30): Promise<string> {
    const { exitCode, stdout, stderr } = await this.exec({ command, timeout_seconds: seconds });
    if (exitCode !== 0) throw new Error(`${command}: exit code ${exitCode}\n${stderr}${stdout}`);
    return stdout;
  }

  /** Ends this one alone: its children live on. */
  async end(): Promise<void> {
    await ask({ verb: "delete", ids: [this.id] });
  }

  /** What the host sees of each process's mappings, under the pid that it has inside. */
  async maps(): Promise<Answer["maps"]> {
    return (await ask({ verb: "maps", id: this.id })).maps;
  }

  ids(): string[] {
    return [this.id, ...this.#children.flatMap((child) => child.ids())];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ask({ verb: "delete", ids: this.ids() });
  }
}
