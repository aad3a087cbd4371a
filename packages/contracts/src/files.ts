// SPDX-License-Identifier: Apache-2.0
/**
 * Whole files in and out of a sandbox, as bytes of any number, under `/v1/sandboxes/{id}/files` and `/v1/sessions/{id}/files`:
 *
 *     PUT ?path=/abs/path[&mode=755]    body: the bytes          200: JSON, `fileReplySchema`
 *     GET ?path=/abs/path                                        200: the bytes
 *
 * A PUT replaces the file at once and as a whole, through a link to the file behind it, and makes missing parents. A caller
 * that leaves in the middle, or bytes that are not those of `x-content-sha256` where that is sent, change nothing.
 * A GET has the size, the hash and the mode in its headers.
 *
 * The same on a node, `{node.url}/internal/sandboxes/{sandbox id}/files`, with a token for `files` (agent-stream.ts). There
 * `not_found` means the file; a sandbox that does not live there is `session_gone`. Refusals: `agentRefusalSchema`.
 */
import { z } from "zod";

export const FILE_TYPE = "application/octet-stream";
/** SHA-256 of the bytes, 64 hexadecimal digits. On a PUT the sender's claim, which is checked. */
export const FILE_HASH_HEADER = "x-content-sha256";
/** Permission bits, octal. */
export const FILE_MODE_HEADER = "x-file-mode";
/** Longest time without a byte, each way. */
export const FILE_IDLE_MAX_MS = 60_000;
/** Longest time for one file. */
export const FILE_TOTAL_MAX_MS = 3_600_000;

/** PATH_MAX of the kernel is 4096 bytes with the NUL at the end. */
const PATH_BYTES_MAX = 4_095;
const utf8 = new TextEncoder();

const pathSchema = z
  .string()
  .regex(/^\/[^\0]*[^/\0]$/, "an absolute path of a file: it begins with a slash and does not end with one")
  .refine((path) => utf8.encode(path).length <= PATH_BYTES_MAX, `longer than a path may be (${PATH_BYTES_MAX} bytes)`);

export const getFileSchema = z.object({ path: pathSchema });
export const putFileSchema = getFileSchema.extend({
  mode: z
    .string()
    .regex(/^[0-7]{1,5}$/, "octal permission bits such as 644 or 0755")
    .transform((digits) => Number.parseInt(digits, 8))
    .refine((mode) => mode <= 0o7777, "octal permission bits, 7777 at most")
    .optional(),
});
export type PutFile = z.infer<typeof putFileSchema>;

export const fileHashSchema = z.string().regex(/^[0-9a-f]{64}$/i, "a SHA-256 in hexadecimal digits");

export const fileReplySchema = z.object({ path: z.string(), size: z.int().nonnegative(), sha256: z.string() });
export type FileReply = z.infer<typeof fileReplySchema>;
