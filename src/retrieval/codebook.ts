/** The codebook of a compressed index on disk. */

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { InputError } from "../errors.ts";
import { type Codebook, type Codec, float32Decoder, residualDecoder } from "./codec.ts";
import { codebookPath, type FileRecord, type Manifest, type ResidualCodec } from "./manifest.ts";
import { recordOf, writeParts } from "./new-files.ts";
import { syncDirectory } from "./storage.ts";

/** Writes `codebook` under `name` and returns what the manifest says of it. */
export async function writeCodebook(
  directory: string,
  name: string,
  { bits, centroids, residuals }: Codebook,
): Promise<ResidualCodec> {
  const path = codebookPath(directory, name);
  await mkdir(path, { recursive: true });
  const files = {
    "centroids.f32": recordOf(await writeParts(join(path, "centroids.f32"), [centroids])),
    "residuals.f32": recordOf(await writeParts(join(path, "residuals.f32"), [residuals])),
  };
  await syncDirectory(path);
  return { name: "residual", bits, codebook: name, files };
}

async function readCodebook(
  directory: string,
  { bits, codebook, files }: ResidualCodec,
  dimension: number,
): Promise<Codebook> {
  const read = (name: string) => readFloats(join(codebookPath(directory, codebook), name), files[name]);
  return {
    bits,
    dimension,
    centroids: await read("centroids.f32"),
    residuals: await read("residuals.f32"),
  };
}

async function readFloats(path: string, record: FileRecord | undefined): Promise<Float32Array> {
  const data = await readFile(path);
  if (data.length !== record?.bytes || crc32(data) !== record.crc32)
    throw new InputError({
      where: path,
      expected: "the bytes that were written",
      got: "others",
      remedy: "restore the file from a copy, or build the index again",
    });
  return new Float32Array(Uint8Array.from(data).buffer); // a copy, since a small file shares its memory with others
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
