/**
 * The format of a token index on disk, version 1.
 *
 *     DIRECTORY/
 *       index.json                manifest: names all files of the index; replaced by rename only
 *       segments/000001/          passages written together by one generation; never changed
 *         passages.deflate        {"id","title","text"} of each passage, compressed one by one
 *                                 (packed-passage.ts)
 *         offsets.u64             [passages + 1, 2]: first token of each passage, and first
 *                                 byte in passages.deflate
 *         ids.u64                 [passages, 2]: hash of the id and ordinal in the segment, sorted
 *                                 (id-hashes.ts)
 *         metadata.json           {"document","metadata"} of each passage that has one of them, one
 *                                 after the other (packed-passage.ts)
 *         metadata.u64            [passages + 1]: first byte of each passage in metadata.json. Both
 *                                 files are absent if no passage of the segment has either
 *         states.bin              what reading starts from, for each passage (packed-states.ts)
 *         states.u64              [passages + 1]: first byte of each passage in states.bin. Both
 *                                 files are absent unless the index holds states
 *         keys.f32                [tokens, dimension]: token keys in order (codec float32)
 *         keys.i8                 during a build only: keys that wait for a codebook (int8-keys.ts)
 *         codes.bin               compressed token keys in order (codec quantised, codec.ts)
 *         codes.u64               [passages + 1]: first byte of the codes of each passage
 *                                 (codec quantised)
 *         lists.bin, lists.u64    for each centroid, the passages with a key of it
 *                                 (codec quantised, lists.ts)
 *         blocks.u32              CRC-32 of every block of 16 KiB of the files above, in the order
 *                                 of the manifest
 *         words.bin               the inverted index of the texts, for BM25 (words-file.ts). The
 *                                 manifest does not name it, and search works without it
 *         deleted-000002.bits     a bit for each passage, lowest bit of a byte first: set if the
 *                                 passage is deleted or replaced, as of generation 2; absent if
 *                                 none is
 *         journal                 during a build only (growing-files.ts)
 *         window/                 during a build only: keys of a window (partial-window.ts)
 *       codebooks/000001/         the codebook (codec quantised, codec.ts)
 *         axes.f32                [dimension, dimension]: the OPQ rotation
 *         centroids.f32           [centroids, dimension]
 *         parts.u8, or parts.u16  [centroids]: subquantisers of each centroid; parts.u16 if some
 *                                 have more than 255
 *         long.f32, short.f32     [subquantisers, 256, width]: codewords for long and short
 *                                 residuals
 *         ratios.f32              [256]
 *         journal                 the input of the codebook; until the index is complete
 *       writer.*.lock             during a change only (io/lock.ts)
 *
 * Numbers are little-endian. The ordinal of a passage is its position in the concatenation of the
 * segments.
 *
 * A change writes new segments beside the old ones, makes them and their names durable, and renames
 * a manifest of the next generation into place. Only then does it delete files. So the directory
 * always holds one complete index, and readers that opened the previous one finish with their open
 * files. Files that the manifest does not name belong to an interrupted change: the next writer
 * resumes that change or removes them.
 *
 * Indexes of the first versions of reatt have no metadata files; those versions reject such files.
 * They have no words either, and those versions ignore them.
 * New codecs need no new version: a codec is a name with parameters and its own files in the
 * segments. A reader rejects an unknown codec or version.
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { InputError, isMissing } from "../../../io/errors.ts";
import { readOpened } from "../../../io/open-file.ts";
import { replaceFile } from "../../../io/replace-file.ts";
import { POOLINGS, type Pooling } from "../../../model/config.ts";
import { type PruningRule, pruningWeights } from "../../../model/token-pruning.ts";
import { type Bits, subquantiserCounts } from "../../codec/codec.ts";
import { readingErrorFrom } from "../blocks/storage.ts";
import { blockChecksumBytes, codebookSizes, deletedBytes, segmentSizes } from "./layout.ts";

/** Describes the model whose keys an index holds, and how it encoded them. */
export interface IndexHeader {
  /** Identifies the weights of the model. Only questions of the same model can search the index. */
  readonly fingerprint: string;
  /** That model, as who has the index can find it. Absent in earlier indexes. */
  readonly model?: ModelPlace | undefined;
  /** Values of a key. */
  readonly dimension: number;
  /** Longer passages are cut to this number of tokens. */
  readonly maxPassageTokens: number;
  /**
   * The share of the tokens that have keys (the option `keepRatio`, token-pruning.ts). Absent if
   * all have.
   */
  readonly keepTokens?: number | undefined;
  /**
   * How these tokens were chosen. Additions use this rule, whatever layer the model has by then.
   * Absent if all tokens have keys, and in pruned indexes of earlier versions, which chose by
   * attention: they can be searched, and not extended.
   */
  readonly pruning?: PruningRule | undefined;
  /**
   * How the tokens of a passage became its one key (`retrieval_pooling` of the model). Absent if
   * tokens have keys.
   */
  readonly pooling?: Pooling | undefined;
  /** Set if the index holds the states of the lower layers for all tokens of its passages. */
  readonly states?: StatesHeader | undefined;
  /** The beginning of the addresses of documents (the option `linkBase`). Absent without it. */
  readonly linkBase?: string | undefined;
  /** The templates of the encoded texts, e.g. `{ passage: "title: {title} context: {text}" }`. */
  readonly prompts: Readonly<Record<string, string>>;
}

/** A model as people know it. */
export interface ModelPlace {
  /** Its name on the hub with the commit, or the name of its folder. */
  readonly title: string;
  /**
   * Its folder. In an index, as seen from the folder of the index, if the two are near each other;
   * else, for a model of the hub and for that of the package the title is enough.
   */
  readonly path?: string | undefined;
}

/** Describes the states of passages that an index holds (the option `keepStates`). */
export interface StatesHeader {
  /** Identifies the weights that make the states. A model with another one makes its own. */
  readonly fingerprint: string;
  /** Values of the states of a token. */
  readonly size: number;
}

export interface FileRecord {
  readonly bytes: number;
  readonly crc32: number;
}

/** Passages with more tokens than `maxPassageTokens`, and their tokens that have no keys. */
export interface CutText {
  /** Passages that are longer than the limit. */
  readonly passages: number;
  /** Their tokens beyond it, which have no keys. */
  readonly tokens: number;
}

export interface SegmentRecord {
  readonly name: string;
  readonly passages: number;
  readonly tokens: number;
  /** The greatest Euclidean length of a key. It bounds the rounding error of float32 products. */
  readonly longestKey: number;
  /** Absent if no text is cut. */
  readonly cut?: CutText | undefined;
  readonly files: Readonly<Record<string, FileRecord>>;
  /** The deleted passages. The counts above include them. */
  readonly deleted?: DeletedRecord | undefined;
}

export interface DeletedRecord extends FileRecord {
  /** The name of the file; each change writes a new one. */
  readonly file: string;
  readonly passages: number;
  readonly tokens: number;
  readonly cut?: CutText | undefined;
}

export interface QuantisedCodec {
  readonly name: "quantised";
  readonly bits: Bits;
  /** The name of the codebook's folder. */
  readonly codebook: string;
  readonly files: Readonly<Record<string, FileRecord>>;
}

export interface Float32Codec {
  readonly name: "float32";
  /** `automatic`: keys are compressed when the index is large enough (automatic-bits.ts). */
  readonly bits?: "automatic" | undefined;
}

export type CodecRecord = Float32Codec | QuantisedCodec;

export interface ShardRecord {
  /** Which shard, from 0. */
  readonly index: number;
  /** How many shards there are. */
  readonly count: number;
}

export interface Manifest {
  readonly format: "reatt-index";
  readonly version: 1;
  /** 1 for the first generation of the index; each change adds 1. */
  readonly generation: number;
  readonly header: IndexHeader;
  readonly codec: CodecRecord;
  /**
   * Set for a shard: an index of every `count`-th window of a corpus, from window `index` (from
   * 0).
   */
  readonly shard?: ShardRecord | undefined;
  readonly segments: readonly SegmentRecord[];
}

/** Above the size of an attention head of any model. */
const MAX_DIMENSION = 65_536;

const count = z.int().nonnegative();
const files = z.record(
  z.string().regex(/^\w+\.\w+$/),
  z.strictObject({ bytes: count, crc32: count }),
);
const cut = z.strictObject({ passages: count, tokens: count }).optional();
/** Digits only, so that a name cannot lead out of the index. */
const directoryName = z.string().regex(/^\d{6,}$/);

export const headerSchema: z.ZodType<IndexHeader> = z.strictObject({
  fingerprint: z.string(),
  model: z.strictObject({ title: z.string(), path: z.string().optional() }).optional(),
  dimension: z.int().positive().max(MAX_DIMENSION),
  maxPassageTokens: z.int().positive(),
  keepTokens: z.number().positive().optional(),
  pruning: z
    .union([
      z.literal("novelty"),
      z.strictObject({
        weights: z.array(z.number()).readonly(),
        threshold: z.number(),
      }),
    ])
    .optional(),
  pooling: z.enum(POOLINGS).optional(),
  states: z
    .strictObject({ fingerprint: z.string(), size: z.int().positive().max(MAX_DIMENSION) })
    .optional(),
  linkBase: z.string().optional(),
  prompts: z.record(z.string(), z.string()),
});

const schema: z.ZodType<Manifest> = z.strictObject({
  format: z.literal("reatt-index"),
  version: z.literal(1),
  generation: z.int().positive(),
  header: headerSchema,
  codec: z.discriminatedUnion("name", [
    z.strictObject({ name: z.literal("float32"), bits: z.literal("automatic").optional() }),
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
      cut,
      files,
      deleted: z
        .strictObject({
          file: z.string().regex(/^deleted-\d{6,}\.bits$/),
          bytes: count,
          crc32: count,
          passages: count,
          tokens: count,
          cut,
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

/** The name of the segment and of the codebook that a generation writes. */
export const segmentName = (generation: number): string => String(generation).padStart(6, "0");

/** Makes `manifest` the current generation of the index, in one step. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, undefined, 2);
  await replaceFile(manifestPath(directory), (file) => file.writeFile(`${text}\n`));
}

/**
 * Reads the manifest of the index in `directory`; undefined if there is none.
 *
 * @throws {InputError} if the manifest is damaged
 */
export async function findManifest(directory: string): Promise<Manifest | undefined> {
  const path = manifestPath(directory);
  const bytes = await readOpened(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw readingErrorFrom(error, path);
  });
  return bytes && parseManifest(path, bytes.toString("utf8"));
}

/**
 * Reads the manifest of the index in `directory`.
 *
 * @throws {InputError} if there is none or it is damaged
 */
export async function readManifest(directory: string): Promise<Manifest> {
  const manifest = await findManifest(directory);
  if (manifest) return manifest;
  throw new InputError({
    code: "ERR_REATT_NO_INDEX",
    where: directory,
    expected: "an index",
    got: "no index.json",
    remedy: "build the index, or run an interrupted build again",
  });
}

function parseManifest(path: string, text: string): Manifest {
  const { checksum, ...rest } = parseObject(path, text);
  if (rest.format !== "reatt-index")
    throw unusable(path, '"format": "reatt-index"', "another format");
  if (rest.version !== 1) throw unusable(path, "version 1", `version ${rest.version}`);
  if (checksum !== checksumOf(rest)) throw unusable(path, "its own checksum", "changed contents");
  const parsed = schema.safeParse(rest);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw unusable(path, `a known ${issue.path.join(".")}`, issue.message);
  }
  checkLayout(path, parsed.data);
  return parsed.data;
}

/** @throws {InputError} if counts, names and sizes of files do not belong together */
function checkLayout(path: string, { header, codec, shard, segments }: Manifest): void {
  const { dimension, pruning = "novelty" } = header;
  if (pruning !== "novelty" && pruning.weights.length !== pruningWeights(dimension))
    throw unusable(
      path,
      `${pruningWeights(dimension)} weights of pruning`,
      `${pruning.weights.length}`,
    );
  const quantised = codec.name === "quantised" ? codec : undefined;
  const centroids = quantised && Math.floor(centroidsBytes(quantised) / (4 * dimension));
  if (quantised) {
    const { long } = subquantiserCounts(dimension, quantised.bits);
    checkSizes(path, "codec", quantised.files, codebookSizes(dimension, centroids!, long));
  }
  if (shard && shard.index >= shard.count)
    throw unusable(path, `a shard below ${shard.count}`, `${shard.index}`);
  if (new Set(segments.map(({ name }) => name)).size < segments.length)
    throw unusable(path, "segments with different names", "the same name twice");
  for (const { name, passages, tokens, files, deleted } of segments) {
    const where = `segment ${name}`;
    const hasMetadata = "metadata.json" in files || "metadata.u64" in files;
    const hasStates = header.states !== undefined;
    const counts = { passages, tokens, dimension, centroids, hasMetadata, hasStates };
    checkSizes(path, where, files, segmentSizes(counts));
    const others = Object.entries(files).filter(([file]) => file !== "blocks.u32");
    const blocks = blockChecksumBytes(others.map(([, { bytes }]) => bytes));
    checkSizes(path, where, { "blocks.u32": files["blocks.u32"]! }, { "blocks.u32": blocks });
    if (!deleted) continue;
    const bits = { [deleted.file]: deleted };
    checkSizes(path, where, bits, { [deleted.file]: deletedBytes(passages) });
    if (deleted.passages > passages || deleted.tokens > tokens)
      throw unusable(path, `at most the passages of ${where} deleted`, "more");
  }
}

const centroidsBytes = ({ files }: QuantisedCodec): number => files["centroids.f32"]?.bytes ?? 0;

/** @throws {InputError} if `files` are not those of `sizes`, which gives undefined for any size */
function checkSizes(
  path: string,
  where: string,
  files: Readonly<Record<string, FileRecord>>,
  sizes: Readonly<Record<string, number | undefined>>,
): void {
  for (const name of new Set([...Object.keys(files), ...Object.keys(sizes)])) {
    if (!(name in sizes)) throw unusable(path, `${where} without ${name}`, "that file");
    const got = files[name]?.bytes;
    if (got === undefined) throw unusable(path, `${where} with ${name}`, "no such file");
    const expected = sizes[name] ?? got;
    if (got !== expected)
      throw unusable(path, `${where}, ${name} with ${expected} bytes`, `${got} bytes`);
  }
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unusable(path, "JSON", "damaged text", cause);
  }
  if (typeof value !== "object" || value === null)
    throw unusable(path, "an object", JSON.stringify(value));
  return value as Record<string, unknown>;
}

/** The checksum of the compact JSON, which does not depend on white space. */
const checksumOf = (manifest: object): number => crc32(JSON.stringify(manifest));

const unusable = (path: string, expected: string, got: string, cause?: unknown): InputError =>
  new InputError(
    {
      code: "ERR_REATT_DAMAGED_INDEX",
      where: path,
      expected,
      got,
      remedy: "use a version of reatt that knows it, or build the index again",
    },
    { cause },
  );
