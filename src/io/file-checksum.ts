import { crc32 } from "node:zlib";
import { openInputFile } from "./input-file.ts";

const PART_BYTES = 2 ** 20;

/** The CRC-32 of a file. @throws {InputError} if it cannot be read */
export async function fileChecksum(path: string): Promise<number> {
  await using file = await openInputFile(path);
  let checksum = 0;
  for (let at = 0; at < file.size; at += PART_BYTES)
    checksum = crc32(await file.read(at, Math.min(PART_BYTES, file.size - at)), checksum);
  return checksum;
}
