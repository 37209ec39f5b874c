/** Makes small weight files, valid and invalid, and checks that invalid files are rejected. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { InputError } from "../../src/io/errors.ts";

export const fixtures: string = join(import.meta.dirname, "../fixtures/weights");

/** A folder that is removed when the process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "reatt-weights-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Awaits an `InputError` of one line that matches. */
export async function refused(work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    () => assert.unreachable("was accepted"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof InputError)) throw error;
  assert.match(error.message, message);
  assert.not.match(error.message, /\n/);
}

/** The result, or undefined if the input was rejected. Throws any other error. */
export async function acceptedOrRefused<Result>(
  work: Promise<Result>,
): Promise<Result | undefined> {
  return work.catch((error) => {
    if (error instanceof InputError) return undefined;
    throw error;
  });
}

/** A safetensors file with any header. */
export function safetensorsBytes(header: unknown, data: Uint8Array): Buffer {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, data]);
}

/** Writes a safetensors file of F32 tensors. */
export function writeTensors(
  path: string,
  tensors: Record<string, { shape: readonly number[]; values: number[] }>,
): void {
  const data = Object.values(tensors).map(({ values }) =>
    Buffer.from(Float32Array.from(values).buffer),
  );
  let end = 0;
  const header = Object.entries(tensors).map(([name, { shape, values }]) => {
    const begin = end;
    end += 4 * values.length;
    return [name, { dtype: "F32", shape, data_offsets: [begin, end] }];
  });
  writeFileSync(path, safetensorsBytes(Object.fromEntries(header), Buffer.concat(data)));
}

/** A zip archive of stored entries, whose method and flags can be falsified. */
export function zipBytes(entries: Record<string, Uint8Array>, method = 0, flags = 0): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const [name, data] of Object.entries(entries)) {
    const common = Buffer.alloc(26); // the fields that a local header and a directory entry share
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const start = Buffer.alloc(4);
    start.writeUInt32LE(position, 0);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), data]);
    directory.push(
      Buffer.from("PK\x01\x02\0\0"),
      common,
      Buffer.alloc(10),
      start,
      Buffer.from(name),
    );
    parts.push(local);
    position += local.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(entries).length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(position, 12);
  return Buffer.concat([...parts, ...directory, Buffer.from("PK\x05\x06"), end]);
}
