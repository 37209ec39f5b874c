/** Reads files that are small by their purpose: configurations, vocabularies. */

import { InputError } from "./errors.ts";
import { formatBytes } from "./format-bytes.ts";
import { chunksOf, openFile } from "./open-file.ts";

/**
 * Reads a whole file. Reads little more than the limit, also from a device without end.
 * Errors of the system are thrown unchanged.
 *
 * @throws {InputError} if the file has more than `maxBytes`.
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await using file = await openFile(path);
  for await (const chunk of chunksOf(file)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  if (size <= maxBytes) return Buffer.concat(chunks);
  throw new InputError({
    code: "ERR_REATT_TOO_LARGE",
    where: path,
    expected: `at most ${formatBytes(maxBytes)}`,
    got: "more",
    remedy: "check the path, or download the file again",
  });
}
