// SPDX-License-Identifier: Apache-2.0
/** Programs that people run in a sandbox go on in every child. What the memory tests run is not repeated here. */
import { describe, test } from "vitest";
import { STAGED } from "./engine/images.ts";
import { expectTrue } from "./scenario.ts";

const LIMIT_MS = 240_000;

test("nginx keeps its connections, its workers and its master", () => expectTrue({ program: "nginx.py" }), LIMIT_MS);
test("PostgreSQL finishes the transaction that was open, in each by itself", () => expectTrue({ program: "postgres.py" }), LIMIT_MS);
test("gcc finishes its work and bash keeps its jobs", () => expectTrue({ program: "compiler.py" }), LIMIT_MS);
test("asyncio and a multiprocessing pool go on with their work", () => expectTrue({ program: "asyncio_program.py" }), LIMIT_MS);
describe.each(STAGED.filter((image) => image === "truth-programs"))("of %s", (image) => {
  test("a Jupyter kernel answers its clients on", () => expectTrue({ program: "jupyter.py", image }), LIMIT_MS);
});
