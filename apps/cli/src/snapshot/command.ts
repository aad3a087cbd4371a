// SPDX-License-Identifier: Apache-2.0
/** Looks into the snapshots of a node. */
import { verify } from "@collimate/snapshot";
import { Command } from "commander";
import { size } from "../terminal/quantity.ts";
import { type Column, table } from "../terminal/table.ts";
import { difference } from "./difference.ts";
import { contentsOf, findStored, readStore, storeFolder, type Stored } from "./store.ts";

interface Flags {
  readonly store?: string;
  readonly json?: boolean;
}

export function snapshotCommand(): Command {
  const command = (name: string, description: string) =>
    new Command(name)
      .description(description)
      .option("--store <folder>", "the node's folder of snapshots (default: this machine's platform)")
      .option("--json", "as one JSON document");
  return new Command("snapshot")
    .description("look into the snapshots of this node")
    .addCommand(command("ls", "every snapshot that is here").action(list))
    .addCommand(command("show", "what one is made of").argument("<id>").action(show))
    .addCommand(command("diff", "what two have in common").argument("<a>").argument("<b>").action(diff))
    .addCommand(command("verify", "compare files with their checksums; exit code 1 when one differs").argument("[id...]").action(check));
}

async function list(flags: Flags): Promise<void> {
  const rows = (await readStore(storeFolder(flags.store))).map(summary);
  if (flags.json) return print({ snapshots: rows });
  const columns: Column[] = ["id", "kind", "template", "base", "layers", "memory", "state", "created"].map((title) => ({
    title,
    align: title === "layers" || title === "memory" ? "right" : "left",
  }));
  const cells = rows.map((row) => [
    row.id,
    row.kind,
    row.template,
    row.base ?? "",
    String(row.layers),
    size(row.memoryBytes),
    row.state,
    row.created,
  ]);
  process.stdout.write(`${table(columns, cells)}\n`);
}

async function show(id: string, flags: Flags): Promise<void> {
  const stored = await findStored(storeFolder(flags.store), id);
  const { manifest, seal } = stored;
  const whole = { ...manifest, state: summary(stored).state, images: seal?.images ?? [], layer: seal?.layer ?? null };
  if (flags.json) return print(whole);
  const facts = Object.entries(manifest).map(([name, value]) => [name, Array.isArray(value) ? value.join(" ") : textOf(value)]);
  const files = (seal?.images ?? []).map(({ name, size: bytes, chunks }) => [name, size(bytes), String(chunks.length), zeros(chunks)]);
  process.stdout.write(`${table([{ title: "manifest" }, { title: "" }], facts)}\n\n`);
  if (!seal) process.stdout.write("not sealed: it was not meant to last, or not yet; its images are known to the agent alone\n");
  else {
    const rows = [...files, ["(writable layer)", size(seal.layer.size), String(seal.layer.chunks.length), zeros(seal.layer.chunks)]];
    const right = (title: string): Column => ({ title, align: "right" });
    process.stdout.write(`${table([{ title: "file" }, right("size"), right("chunks"), right("of zeros")], rows)}\n`);
  }
}

async function diff(a: string, b: string, flags: Flags): Promise<void> {
  const store = storeFolder(flags.store);
  const [first, second] = [await findStored(store, a), await findStored(store, b)];
  const found = difference(await contentsOf(first), await contentsOf(second));
  if (flags.json) return print({ a, b, ...found });
  const lines = [
    ["shared", size(found.sharedBytes)],
    [`only in ${a}`, size(found.onlyBytes[0])],
    [`only in ${b}`, size(found.onlyBytes[1])],
    ["images alike", String(found.images.same)],
    ["images that differ", found.images.changed.join(" ")],
    [`images only in ${a}`, found.images.only[0].join(" ")],
    [`images only in ${b}`, found.images.only[1].join(" ")],
    ["writable layer", found.layer],
  ];
  process.stdout.write(`${table([{ title: "" }, { title: "" }], lines)}\n`);
}

async function check(ids: readonly string[], flags: Flags): Promise<void> {
  const store = storeFolder(flags.store);
  const chosen = ids.length > 0 ? await Promise.all(ids.map((id) => findStored(store, id))) : await readStore(store);
  const results: { id: string; result: "whole" | "damaged" | "not sealed"; message: string }[] = [];
  for (const { manifest, folder } of chosen) {
    const { id } = manifest;
    try {
      results.push({ id, result: (await verify(folder)) ? "whole" : "not sealed", message: "" });
    } catch (error) {
      results.push({ id, result: "damaged", message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (results.some(({ result }) => result === "damaged")) process.exitCode = 1;
  if (flags.json) return print({ snapshots: results });
  const columns = [{ title: "id" }, { title: "result" }, { title: "" }];
  process.stdout.write(
    `${table(
      columns,
      results.map(({ id, result, message }) => [id, result, message]),
    )}\n`,
  );
}

function summary({ manifest, seal, damage }: Stored) {
  return {
    id: manifest.id,
    kind: manifest.kind,
    template: manifest.templateId,
    base: manifest.base,
    layers: manifest.layers.length,
    memoryBytes: manifest.privateBytes,
    state: damage ? ("damaged" as const) : seal ? ("sealed" as const) : ("open" as const),
    created: manifest.createdAt,
  };
}

const zeros = (chunks: readonly (string | null)[]): string => String(chunks.filter((one) => one === null).length);
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
