// SPDX-License-Identifier: Apache-2.0
/** No two sandboxes draw the same numbers, unless they were seeded alike or a program keeps its own generator in memory. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { STAGED } from "./engine/images.ts";
import { Sandbox } from "./engine/sandbox.ts";
import { family, startProgram, verdictOf } from "./scenario.ts";

const values = z.record(z.string(), z.string().min(1));
const drawsSchema = z.object({ before: values, fresh: values, kept: values, libc: z.string() });

async function drawsOf(name: string, sandbox: Sandbox): Promise<z.infer<typeof drawsSchema>> {
  expect(await verdictOf(sandbox, name)).toBe(`${name}: ok`);
  return drawsSchema.parse(JSON.parse(await sandbox.shell("cat /tmp/truth/draws")));
}

/** The names under which a value was drawn more than once. */
function repeated(draws: readonly (readonly [string, string])[]): string[][] {
  const byValue = Map.groupBy(draws, ([, value]) => value);
  return [...byValue.values()].filter((same) => same.length > 1).map((same) => same.map(([name]) => name));
}

describe.each(STAGED)("%s", (image) => {
  test("a running program, its threads and its new processes draw anew in every sandbox", async () => {
    await using parent = await Sandbox.create(image);
    await startProgram(parent, { program: "randomness.py" });
    const named = await family(parent);
    const draws = await Promise.all(named.map(async ([name, sandbox]) => [name, await drawsOf(name, sandbox)] as const));
    const [first] = draws;
    const before = Object.entries(first?.[1].before ?? {});
    const fresh = draws.flatMap(([who, { fresh: drawn }]) =>
      Object.entries(drawn).map(([what, value]) => [`${who}: ${what}`, value] as const),
    );
    expect(fresh.length).toBeGreaterThan(30 * named.length);
    expect(repeated([...before, ...fresh])).toEqual([]);
    // A fork is a copy: what a program keeps in its own memory, docs/security.md tells of.
    for (const [, { kept }] of draws) expect(kept).toEqual(first?.[1].kept);
    if (image === "truth-trixie") expect(first?.[1].libc).toBe("glibc 2.41");
  });

  test("the interpreter's generators are new in every sandbox, and alike where the seed is", async () => {
    await using parent = await Sandbox.create(image);
    const prepare = [
      "import random, secrets, ssl, tempfile, uuid, os",
      "own = random.Random(7); own.random(); random.random(); ssl.RAND_bytes(8)",
      "try:\n  import numpy\n  generator = numpy.random.default_rng(7)\n  generator.random(); numpy.random.random()",
      "except ImportError: numpy = None",
    ].join("\n");
    const draw = [
      "drawn = [own.randbytes(8).hex(), random.randbytes(8).hex(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8).hex()]",
      "drawn += [ssl.RAND_bytes(8).hex(), next(tempfile._get_candidate_names())]",
      "if numpy: drawn += [generator.bytes(8).hex(), numpy.random.bytes(8).hex(), numpy.random.default_rng().bytes(8).hex()]",
      "print(*drawn)",
    ].join("\n");
    expect(await parent.exec({ code: prepare })).toMatchObject({ exitCode: 0 });
    const named = await family(parent);
    const answers = await Promise.all(named.map(async ([who, sandbox]) => [who, await sandbox.exec({ code: draw })] as const));
    const drawn = answers.flatMap(([who, { stdout }]) =>
      stdout
        .trim()
        .split(" ")
        .map((value, index) => [`${who}: ${index}`, value] as const),
    );
    expect(drawn.length).toBeGreaterThanOrEqual(7 * named.length);
    expect(repeated(drawn)).toEqual([]);

    const children = named.slice(1, 5).map(([, sandbox]) => sandbox);
    const seeds = ["ab", "ab", "cd", "ab"].map((byte) => byte.repeat(32));
    const seeded = await Promise.all(
      children.map((child, index) =>
        child.exec({ code: "print(random.random(), numpy and numpy.random.random())", seed: seeds[index] ?? "" }),
      ),
    );
    const [a, b, c, d] = seeded.map(({ stdout }) => stdout);
    expect([b, d]).toEqual([a, a]);
    expect(c).not.toBe(a);
  });
});
