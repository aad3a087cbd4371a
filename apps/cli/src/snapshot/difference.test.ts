// SPDX-License-Identifier: Apache-2.0
import { CHUNK_BYTES } from "@collimate/snapshot";
import { expect, it } from "vitest";
import { difference } from "./difference.ts";

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const layer = { size: 10, chunks: [digest("d")] };

it("two snapshots share the chunks that both have, wherever they lie, and zeros count for nothing", () => {
  const a = {
    images: [
      { name: "pages-1.img", size: CHUNK_BYTES + 100, chunks: [digest("a"), digest("b")] },
      { name: "only-a.img", size: CHUNK_BYTES, chunks: [null] },
    ],
    layer,
  };
  const b = { images: [{ name: "pages-1.img", size: 2 * CHUNK_BYTES, chunks: [digest("c"), digest("a")] }], layer };
  expect(difference(a, b)).toEqual({
    images: { only: [["only-a.img"], []], changed: ["pages-1.img"], same: 0 },
    layer: "same",
    sharedBytes: CHUNK_BYTES + 10,
    onlyBytes: [100, CHUNK_BYTES],
  });
});
