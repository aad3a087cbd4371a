// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { createLogger, hideSecrets } from "./index.ts";

function capture() {
  const lines: string[] = [];
  return { lines, logger: createLogger({ service: "test", destination: { write: (line) => void lines.push(line) } }) };
}

describe("the log", () => {
  it("carries the ids it was bound to", () => {
    const { lines, logger } = capture();
    logger.child({ operationId: "op_1", sandboxId: "sb_1" }).info("placed");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      service: "test",
      level: "info",
      operationId: "op_1",
      sandboxId: "sb_1",
      msg: "placed",
    });
  });
  it("hides fields that hold secrets, nested too", () => {
    const { lines, logger } = capture();
    logger.info({ headers: { authorization: "abc" }, apiKey: "k1", request: { headers: { cookie: "c1" } } }, "asked");
    expect(lines[0]).not.toMatch(/abc|k1|c1/);
  });
  it("hides keys, tokens and passwords inside texts and stays parseable", () => {
    const { lines, logger } = capture();
    logger.error(
      { err: new Error(`refused col_pro_abcdefgh_${"s".repeat(32)} at postgresql://user:hunter2@db/x`) },
      "Bearer abc.def.ghi failed",
    );
    expect(lines[0]).not.toMatch(/s{32}|hunter2|abc\.def/);
    expect(lines[0]).toContain("col_pro_abcdefgh_[hidden]");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "error" });
  });
  it("leaves other text alone", () => {
    expect(hideSecrets('{"url":"http://127.0.0.1:80/x","at":"a@b"}')).toBe('{"url":"http://127.0.0.1:80/x","at":"a@b"}');
  });
});
