// SPDX-License-Identifier: Apache-2.0
import { FileError, TransportError } from "../errors.ts";

/** Both streams of an exec at their cap (16 MiB each), every byte escaped in JSON as six. */
const BODY_MAX_BYTES = 200 * 1024 * 1024;

/** The reply's JSON; an empty body is an empty object. */
export async function readBody(response: Response): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of chunks(response)) {
    size += chunk.byteLength;
    if (size > BODY_MAX_BYTES) throw new TransportError(`the reply is longer than ${BODY_MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  text += decoder.decode();
  // Blanks alone: a server that kept a long call alive and then broke.
  if (text.trim() === "") {
    if (text !== "") throw new TransportError("the server broke off its reply");
    return {};
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`the reply is no JSON: ${text.slice(0, 200)}`, { cause });
  }
}

export interface ReceivedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
}

/** The reply's bytes. One that is, or says it is, larger than `max` is given up at once. */
export async function readBytes(response: Response, max: number): Promise<ReceivedBytes> {
  const { headers } = response;
  const announced = Number(headers.get("content-length") ?? 0);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks(response)) {
    size += chunk.byteLength;
    if (Math.max(size, announced) > max) throw new FileError(`the file has more than ${max} bytes`);
    parts.push(chunk);
  }
  // A fetch over HTTP/1.1 notices a body that is cut short; not every fetch does.
  if (headers.has("content-length") && size !== announced) throw new TransportError(`${size} of ${announced} bytes came`);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return { bytes, headers };
}

/** Not the stream's own iterator: browsers and older Safari lack it. Leaving the loop early ends the connection. */
async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const part = await reader.read();
      if (part.done) return;
      yield part.value;
    }
  } finally {
    await reader.cancel();
  }
}
