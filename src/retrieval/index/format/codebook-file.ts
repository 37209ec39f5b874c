/**
 * The codebook of a compressed index on disk. On disk the rotation is `axes.f32`, the numbers of
 * subquantisers are `parts.u8` or `parts.u16`, and the codewords are `long.f32` and `short.f32`.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { createDirectory } from "../../../io/create-directory.ts";
import { InputError, isMissing } from "../../../io/errors.ts";
import {
  type Bits,
  type Codebook,
  type Codec,
  float32Decoder,
  subquantiserCounts,
} from "../../codec/codec.ts";
import { residualDecoder } from "../../codec/key-decoder.ts";
import { damagedFile } from "../blocks/storage.ts";
import { readJournal, writeJournal } from "./journal.ts";
import { partsFile } from "./layout.ts";
import {
  type CodecRecord,
  codebookPath,
  type FileRecord,
  type Manifest,
  type QuantisedCodec,
} from "./manifest.ts";
import { recordOf, writeParts } from "./new-files.ts";

/** A codebook and its record in the manifest. */
export interface StoredCodebook {
  readonly codec: CodecRecord;
  readonly codebook: Codebook;
}

/** The input of a codebook. `findCodebook` finds the codebook of an interrupted build by it. */
export interface CodebookPlan {
  /** The files of the segment with the keys. */
  readonly stage: Readonly<Record<string, FileRecord>>;
  readonly bits: Bits;
}

/** Writes `codebook` under `name` and returns its record for the manifest. */
export async function writeCodebook(
  directory: string,
  name: string,
  { bits, dimension, rotation, centroids, subquantisers, codewords, ratios }: Codebook,
  plan: CodebookPlan,
): Promise<QuantisedCodec> {
  const path = codebookPath(directory, name);
  await createDirectory(path);
  const { long, short } = subquantiserCounts(dimension, bits);
  const contents = {
    "axes.f32": rotation,
    "centroids.f32": centroids,
    [partsFile(long)]: long < 256 ? Uint8Array.from(subquantisers) : subquantisers,
    "long.f32": codewords.get(long)!,
    "short.f32": codewords.get(short)!,
    "ratios.f32": ratios,
  };
  const files: Record<string, FileRecord> = {};
  for (const [file, data] of Object.entries(contents))
    files[file] = recordOf(await writeParts(join(path, file), [data]));
  const codec: QuantisedCodec = { name: "quantised", bits, codebook: name, files };
  await writeJournal(path, plan, [codec]);
  return codec;
}

/** Finds the complete codebook that an interrupted build with the same plan wrote under `name`. */
export async function findCodebook(
  directory: string,
  name: string,
  dimension: number,
  plan: CodebookPlan,
): Promise<StoredCodebook | undefined> {
  const [codec] = await readJournal<QuantisedCodec>(codebookPath(directory, name), plan);
  if (!codec) return undefined;
  try {
    return { codec, codebook: await readCodebook(directory, codec, dimension) };
  } catch (error) {
    if (error instanceof InputError || isMissing(error)) return undefined;
    throw error;
  }
}

async function readCodebook(
  directory: string,
  { bits, codebook, files }: QuantisedCodec,
  dimension: number,
): Promise<Codebook> {
  const bytes = (name: string) =>
    readWhole(join(codebookPath(directory, codebook), name), files[name]);
  const floats = async (name: string) => new Float32Array((await bytes(name)).buffer);
  const { long, short } = subquantiserCounts(dimension, bits);
  const parts = partsFile(long);
  const counts = await bytes(parts);
  const subquantisers = long < 256 ? Uint16Array.from(counts) : new Uint16Array(counts.buffer);
  if (!subquantisers.every((count) => count === long || count === short))
    throw damagedFile(join(codebookPath(directory, codebook), parts), `${long} or ${short}`);
  return {
    bits,
    dimension,
    rotation: await floats("axes.f32"),
    centroids: await floats("centroids.f32"),
    subquantisers,
    codewords: new Map([
      [long, await floats("long.f32")],
      [short, await floats("short.f32")],
    ]),
    ratios: await floats("ratios.f32"),
  };
}

async function readWhole(
  path: string,
  record: FileRecord | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const data = await readFile(path);
  if (data.length !== record?.bytes || crc32(data) !== record.crc32) throw damagedFile(path);
  return new Uint8Array(data); // a copy, because small files share a buffer
}

/**
 * Reads the codec of an index.
 *
 * @throws {InputError} if its codebook is damaged
 */
export async function readCodec(
  directory: string,
  { codec, header: { dimension } }: Pick<Manifest, "codec" | "header">,
): Promise<Codec> {
  if (codec.name === "float32") return { codebook: undefined, decoder: float32Decoder(dimension) };
  const codebook = await readCodebook(directory, codec, dimension);
  return { codebook, decoder: residualDecoder(codebook) };
}
