/** Reads files that are small by their purpose: configurations, vocabularies. */

import { open } from "node:fs/promises";
import { InputError } from "./errors.ts";
import { formatBytes } from "./format-bytes.ts";

/**
 * Reads a whole file. Reads at most one byte more than the limit, also from a device without end.
 * Errors of the system are thrown unchanged.
 *
 * @throws {InputError} if the file has more than `maxBytes`.
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const handle = await open(path); // before the stream: it would emit an error to nobody
  for await (const chunk of handle.createReadStream({ end: maxBytes })) {
    chunks.push(chunk);
    size += chunk.length;
  }
  if (size <= maxBytes) return Buffer.concat(chunks);
  throw new InputError({
    where: path,
    expected: `at most ${formatBytes(maxBytes)}`,
    got: "more",
    remedy: "check the path, or download the file again",
  });
}
