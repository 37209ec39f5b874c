/** The codebook of a compressed index on disk. */

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { InputError } from "../../../io/errors.ts";
import {
  type Bits,
  type Codebook,
  type Codec,
  float32Decoder,
  residualDecoder,
  subquantiserCounts,
} from "../../codec/codec.ts";
import { readJournal, writeJournal } from "./journal.ts";
import {
  type CodecRecord,
  codebookPath,
  type FileRecord,
  type Manifest,
  type QuantisedCodec,
} from "./manifest.ts";
import { recordOf, writeParts } from "./new-files.ts";
import { isMissing } from "./storage.ts";

/** A codebook, and what a manifest says of it. */
export interface StoredCodebook {
  readonly codec: CodecRecord;
  readonly codebook: Codebook;
}

/** What a codebook is learned from: of the same, `findCodebook` finds it again. */
export interface CodebookPlan {
  /** The files of the segment with the keys. */
  readonly stage: Readonly<Record<string, FileRecord>>;
  readonly bits: Bits;
}

/** Writes `codebook` under `name` and returns what the manifest says of it. */
export async function writeCodebook(
  directory: string,
  name: string,
  { bits, dimension, rotation, centroids, subquantisers, codewords, ratios }: Codebook,
  plan: CodebookPlan,
): Promise<QuantisedCodec> {
  const path = codebookPath(directory, name);
  await mkdir(path, { recursive: true });
  const { long, short } = subquantiserCounts(dimension, bits);
  const contents = {
    "axes.f32": rotation,
    "centroids.f32": centroids,
    "parts.u8": subquantisers,
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

/** The codebook that an interrupted build of the same plan wrote under `name`, if it is whole. */
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
  return {
    bits,
    dimension,
    rotation: await floats("axes.f32"),
    centroids: await floats("centroids.f32"),
    subquantisers: await bytes("parts.u8"),
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
  if (data.length !== record?.bytes || crc32(data) !== record.crc32)
    throw new InputError({
      where: path,
      expected: "the bytes that were written",
      got: "others",
      remedy: "restore the file from a copy, or build the index again",
    });
  return new Uint8Array(data); // a copy, since a small file shares its memory with others
}

/** The codec of an index. Throws `InputError` where its codebook is damaged. */
export async function readCodec(
  directory: string,
  { codec, header: { dimension } }: Pick<Manifest, "codec" | "header">,
): Promise<Codec> {
  if (codec.name === "float32") return { codebook: undefined, decoder: float32Decoder(dimension) };
  const codebook = await readCodebook(directory, codec, dimension);
  return { codebook, decoder: residualDecoder(codebook) };
}
