/**
 * The format of a token index on disk, version 1.
 *
 *     DIRECTORY/
 *       index.json                manifest: names all that belongs to the index; changes only by rename
 *       segments/000001/          passages that were added together; written once, named by the generation that did
 *         passages.deflate        {"id","title","text"} of each passage, compressed one by one (packed-passage.ts)
 *         offsets.u64             [passages + 1, 2]: first token and first byte (in passages.deflate) of each passage
 *         ids.u64                 [passages, 2]: hash of the id and ordinal in the segment, sorted (id-hashes.ts)
 *         keys.f32                [tokens, dimension]: token keys, passage after passage (codec float32)
 *         codes.bin               the same, compressed (codec quantised, codec.ts)
 *         codes.u64               [passages + 1]: first byte of the codes of each passage (codec quantised)
 *         lists.bin, lists.u64    for each centroid the passages with a key of it (codec quantised, lists.ts)
 *         blocks.u32              CRC-32 of every block of 16 KiB of the files above, in the manifest's order
 *         deleted-000002.bits     a bit a passage, the lowest of a byte first: set where it was deleted or replaced, as of
 *                                 generation 2; missing where none was
 *         journal                 only while the segment is being built (growing-files.ts)
 *       codebooks/000001/         what codes are made of (codec quantised, codec.ts)
 *         axes.f32                [dimension, dimension]
 *         centroids.f32           [centroids, dimension]
 *         parts.u8                [centroids]
 *         long.f32, short.f32     [parts, 256, width]: tables of residuals in many parts and in few
 *         ratios.f32              [256]
 *         journal                 from what it was learned; only until the index is whole
 *       writer.*.lock             only while somebody writes (lock.ts)
 *
 * Numbers are little-endian. The ordinal of a passage is its position in the concatenation of the segments.
 *
 * A change writes new segments beside the old, makes them durable, and renames a manifest of the next generation into
 * place; only then is anything deleted. So the directory always holds one whole index, the old or the new, and readers
 * that opened the old one finish on their open files. Whatever the manifest does not name is the rest of an interrupted
 * change: the next writer goes on with it or removes it.
 *
 * How this grows without a new version: a codec is a name with its own parameters, and brings its own files to the
 * segments; `files` lists whatever there is. An unknown codec or version is refused, never guessed at.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { InputError, systemProblem } from "../../../io/errors.ts";
import { replaceFile } from "../../../io/replace-file.ts";
import type { Bits } from "../../codec/codec.ts";
import { isMissing } from "./storage.ts";

/** What an index says of the model whose keys it holds. */
export interface IndexHeader {
  /** Identifies the weights that made the keys: only questions of the same model can search them. */
  readonly fingerprint: string;
  /** Numbers a token key. */
  readonly dimension: number;
  /** Longer passages were cut. */
  readonly maxPassageTokens: number;
  /** The share of each passage's tokens that have keys (token-filter.ts); absent where all have. */
  readonly keepTokens?: number | undefined;
  /** How texts were put before they were encoded, e.g. `{ passage: "title: {title} context: {text}" }`. */
  readonly prompts: Readonly<Record<string, string>>;
}

export interface FileRecord {
  readonly bytes: number;
  readonly crc32: number;
}

export interface SegmentRecord {
  readonly name: string;
  readonly passages: number;
  readonly tokens: number;
  /** The greatest Euclidean length of a key: bounds the rounding of float32 products. */
  readonly longestKey: number;
  readonly files: Readonly<Record<string, FileRecord>>;
  /** Which passages do not count any more. The counts above include them. */
  readonly deleted?: DeletedRecord | undefined;
}

export interface DeletedRecord extends FileRecord {
  /** The name of the file: another one at every change. */
  readonly file: string;
  readonly passages: number;
  readonly tokens: number;
}

export interface QuantisedCodec {
  readonly name: "quantised";
  readonly bits: Bits;
  /** The directory of the codebook. */
  readonly codebook: string;
  readonly files: Readonly<Record<string, FileRecord>>;
}

export type CodecRecord = { readonly name: "float32" } | QuantisedCodec;

export interface ShardRecord {
  readonly index: number;
  readonly count: number;
}

export interface Manifest {
  readonly format: "reatt-index";
  readonly version: 1;
  /** 1 for the first whole state of the index, one more with every change. */
  readonly generation: number;
  readonly header: IndexHeader;
  readonly codec: CodecRecord;
  /** Of an index of every `count`-th window of a corpus, from window `index` on (from 0). */
  readonly shard?: ShardRecord | undefined;
  readonly segments: readonly SegmentRecord[];
}

const count = z.int().nonnegative();
const files = z.record(
  z.string().regex(/^\w+\.\w+$/),
  z.strictObject({ bytes: count, crc32: count }),
);
/** The name of a directory, and nothing that leads out of the index. */
const directoryName = z.string().regex(/^\d{6,}$/);

const schema: z.ZodType<Manifest> = z.strictObject({
  format: z.literal("reatt-index"),
  version: z.literal(1),
  generation: z.int().positive(),
  header: z.strictObject({
    fingerprint: z.string(),
    dimension: z.int().positive(),
    maxPassageTokens: z.int().positive(),
    keepTokens: z.number().positive().optional(),
    prompts: z.record(z.string(), z.string()),
  }),
  codec: z.discriminatedUnion("name", [
    z.strictObject({ name: z.literal("float32") }),
    z.strictObject({
      name: z.literal("quantised"),
      bits: z.literal([1, 2, 4, 8]),
      codebook: directoryName,
      files,
    }),
  ]),
  shard: z.strictObject({ index: count, count: z.int().positive() }).optional(),
  segments: z.array(
    z.strictObject({
      name: directoryName,
      passages: count,
      tokens: count,
      longestKey: z.number().nonnegative(),
      files,
      deleted: z
        .strictObject({
          file: z.string().regex(/^deleted-\d{6,}\.bits$/),
          bytes: count,
          crc32: count,
          passages: count,
          tokens: count,
        })
        .optional(),
    }),
  ),
});

export const manifestPath = (directory: string): string => join(directory, "index.json");

export const segmentPath = (directory: string, name: string): string =>
  join(directory, "segments", name);

export const codebookPath = (directory: string, name: string): string =>
  join(directory, "codebooks", name);

/** The name of the segment, and of the codebook, that a generation writes. */
export const segmentName = (generation: number): string => String(generation).padStart(6, "0");

/** Makes `manifest` the state of the index, in one step. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, undefined, 2);
  await replaceFile(manifestPath(directory), (file) => file.writeFile(`${text}\n`));
}

/** The manifest of the index in `directory`, or undefined where there is none. Throws `InputError` where it is damaged. */
export async function findManifest(directory: string): Promise<Manifest | undefined> {
  const path = manifestPath(directory);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw unusable(path, "a readable index", systemProblem(error), error);
  });
  return text === undefined ? undefined : parseManifest(path, text);
}

/** The manifest of the index in `directory`. Throws `InputError` where there is none or it is damaged. */
export async function readManifest(directory: string): Promise<Manifest> {
  const manifest = await findManifest(directory);
  if (manifest) return manifest;
  throw new InputError({
    where: directory,
    expected: "an index",
    got: "no index.json",
    remedy: "build the index, or let an interrupted build go on to its end",
  });
}

function parseManifest(path: string, text: string): Manifest {
  const { checksum, ...rest } = parseObject(path, text);
  if (rest.format !== "reatt-index")
    throw unusable(path, '"format": "reatt-index"', "another format");
  if (rest.version !== 1) throw unusable(path, "version 1", `version ${rest.version}`);
  if (checksum !== checksumOf(rest)) throw unusable(path, "its own checksum", "changed contents");
  const parsed = schema.safeParse(rest);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw unusable(path, `a known ${issue.path.join(".")}`, issue.message);
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unusable(path, "whole JSON", "torn or changed text", cause);
  }
  if (typeof value !== "object" || value === null)
    throw unusable(path, "an object", JSON.stringify(value));
  return value as Record<string, unknown>;
}

/** Of the compact form, which does not depend on white space. */
const checksumOf = (manifest: object): number => crc32(JSON.stringify(manifest));

const unusable = (path: string, expected: string, got: string, cause?: unknown): InputError =>
  new InputError(
    {
      where: path,
      expected,
      got,
      remedy: "use a version of reatt that knows it, or build the index again",
    },
    { cause },
  );
