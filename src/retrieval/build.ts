/** Builds a token index from a stream of passages. The format, and why a crash cannot break it, is in manifest.ts. */

import { createHash } from "node:crypto";
import { access, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../errors.ts";
import type { Passage } from "../text/passage.ts";
import { writeCodebook } from "./codebook.ts";
import { type Bits, float32Decoder } from "./codec.ts";
import { compressSegment, learnCodebook } from "./compress.ts";
import { IdTable } from "./ids.ts";
import type { BuildPlan } from "./journal.ts";
import { lockDirectory } from "./lock.ts";
import {
  type CodecRecord,
  codebookPath,
  findManifest,
  type IndexHeader,
  type SegmentRecord,
  segmentName,
  segmentPath,
  writeManifest,
} from "./manifest.ts";
import { openSegment } from "./segment.ts";
import { openSegmentWriter, type SegmentWriter } from "./segment-writer.ts";
import { writing } from "./storage.ts";

/** Passages that are encoded together and made durable together: some seconds of work, some 20 MB of keys. */
const WINDOW = 512;

export interface BuildOptions {
  /** Where the index will be. One that is there already is replaced when the new one is whole. */
  readonly directory: string;
  readonly header: IndexHeader;
  /** The token keys of each passage, [tokens, dimension], one token at least. */
  readonly encode: (passages: readonly Passage[]) => Promise<readonly Float32Array[]>;
  /** Compresses keys to so many bits a dimension; until all are there they take 4 bytes a dimension. Default: no compression. */
  readonly bits?: Bits | undefined;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface BuildProgress {
  /**
   * - `resumed`: an interrupted build left `passages` passages that need not be encoded again (once, at the start)
   * - `diverged`: of these only the first `passages` are the same in this corpus; it goes on from there
   * - `reused`, `encoded`: so many passages are done
   * - `compressed`: so many passages are compressed; 0 while a codebook is learned
   * - `finished`: the new index has taken its place
   */
  readonly event: "resumed" | "diverged" | "reused" | "encoded" | "compressed" | "finished";
  readonly passages: number;
  readonly tokens: number;
}

/**
 * Encodes `passages` and writes them as the index in `directory`, in memory bounded by a window of 512 passages and
 * 24 bytes a passage for the ids.
 *
 * Interrupted at any moment (`signal`, a crash, a full disk), the same call goes on where it stopped: passages already
 * encoded are read and compared, not encoded again. Throws `InputError` for duplicate ids, an empty stream, a disk that
 * refuses, another writer; what was whole before stays whole.
 */
export async function buildIndex(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: BuildOptions,
): Promise<void> {
  const { directory, header, bits } = options;
  await writing(directory, async () => {
    for (const folder of ["segments", "codebooks"]) await mkdir(join(directory, folder), { recursive: true });
  });
  await using lock = await writing(directory, () => lockDirectory(directory));
  const generation = await writing(directory, () => nextGeneration(directory));
  const name = segmentName(generation);
  const written = bits === undefined ? name : stageName(name);
  const plan: BuildPlan = { header, window: WINDOW };
  await using writer = await writing(directory, () =>
    openSegmentWriter(segmentPath(directory, written), plan),
  );
  let segment = await writeSegment(writer, passages, options);
  let codec: CodecRecord = { name: "float32" };
  if (bits !== undefined)
    ({ segment, codec } = await writing(directory, () => compressStage(segment, name, bits, options)));
  await lock.assertHeld();
  await writing(directory, async () => {
    await writeManifest(directory, {
      format: "reatt-index",
      version: 1,
      generation,
      header,
      codec,
      segments: [segment],
    });
    await removeOthers(directory, [name], [name]);
    await rm(join(segmentPath(directory, name), "journal"), { force: true });
  });
  options.onProgress?.({ event: "finished", passages: segment.passages, tokens: segment.tokens });
}

/** Where the float32 keys of a compressed segment wait until all are there and a codebook can be learned from them. */
const stageName = (name: string): string => `${name}.stage`;

async function compressStage(
  stage: SegmentRecord,
  name: string,
  bits: Bits,
  { directory, header: { dimension }, onProgress, signal }: BuildOptions,
): Promise<{ segment: SegmentRecord; codec: CodecRecord }> {
  const from = segmentPath(directory, stage.name);
  await using segment = await openSegment(from, stage, { decoder: float32Decoder(dimension) });
  const report = (passages: number) => onProgress?.({ event: "compressed", passages, tokens: stage.tokens });
  report(0);
  const codebook = await learnCodebook(segment, dimension, bits, signal);
  const codec = await writeCodebook(directory, name, codebook);
  const to = segmentPath(directory, name);
  return {
    segment: await compressSegment(segment, from, to, { codebook, signal, onProgress: report }),
    codec,
  };
}

async function writeSegment(
  writer: SegmentWriter,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  { directory, header, encode, onProgress, signal }: BuildOptions,
): Promise<SegmentRecord> {
  const report = (event: BuildProgress["event"], windows: number) => {
    const { passages, tokens } = writer.checkpoints[windows - 1] ?? { passages: 0, tokens: 0 };
    onProgress?.({ event, passages, tokens });
  };
  const divergeAfter = async (windows: number) => {
    await writing(directory, () => writer.rewind(windows));
    report("diverged", windows);
  };
  const ids = new IdTable();
  const digest = createHash("sha256");
  let windows = 0;
  if (writer.checkpoints.length > 0) report("resumed", writer.checkpoints.length);
  for await (const window of windowsOf(passages, signal)) {
    await claimIds(ids, window, windows * WINDOW, writer);
    for (const { id, title, text } of window) digest.update(JSON.stringify([id, title, text]));
    const soFar = digest.copy().digest("hex");
    const known = writer.checkpoints[windows];
    if (known && known.digest !== soFar) await divergeAfter(windows);
    windows++;
    if (known?.digest === soFar) {
      report("reused", windows);
      continue;
    }
    const keys = await encode(window);
    checkKeys(keys, window.length, header.dimension);
    signal?.throwIfAborted();
    await writing(directory, () => writer.append(window, keys, soFar));
    report("encoded", windows);
  }
  if (writer.checkpoints.length > windows) await divergeAfter(windows);
  if (windows === 0) throw empty(directory);
  return writing(directory, () => writer.seal(ids.sorted()));
}

/** Notes the ids of a window whose first passage has the ordinal `first`. Throws `InputError` for one that was there before. */
async function claimIds(
  ids: IdTable,
  window: readonly Passage[],
  first: number,
  writer: SegmentWriter,
): Promise<void> {
  for (const [i, { id }] of window.entries())
    for (const ordinal of ids.add(id)) {
      const earlier = window[ordinal - first] ?? (await writer.passage(ordinal));
      if (earlier.id === id) throw duplicate(id, first + i, ordinal);
    }
}

async function* windowsOf(
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Passage[]> {
  let window: Passage[] = [];
  for await (const passage of passages) {
    signal?.throwIfAborted();
    window.push(passage);
    if (window.length === WINDOW) {
      yield window;
      window = [];
    }
  }
  if (window.length > 0) yield window;
}

/** The number of the next state of the index; where an interrupted build is to be gone on with, the number that it had. */
async function nextGeneration(directory: string): Promise<number> {
  const manifest = await findManifest(directory).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    return undefined; // a damaged manifest is what a new build mends
  });
  if (manifest) {
    const next = segmentName(manifest.generation + 1);
    const segments = manifest.segments.map(({ name }) => name);
    const codebooks = manifest.codec.name === "residual" ? [manifest.codec.codebook] : [];
    await removeOthers(directory, [...segments, stageName(next), next], codebooks);
    return manifest.generation + 1;
  }
  const names = (await readdir(join(directory, "segments"))).sort();
  const last = names.at(-1);
  if (last === undefined) return 1;
  const interrupted = await access(join(segmentPath(directory, last), "journal")).then(
    () => true,
    () => false,
  );
  return Number.parseInt(last, 10) + (interrupted ? 0 : 1);
}

/** Removes all segments and codebooks but the named. */
async function removeOthers(
  directory: string,
  segments: readonly string[],
  codebooks: readonly string[],
): Promise<void> {
  for (const name of await readdir(join(directory, "segments")))
    if (!segments.includes(name)) await rm(segmentPath(directory, name), { recursive: true });
  for (const name of await readdir(join(directory, "codebooks")))
    if (!codebooks.includes(name)) await rm(codebookPath(directory, name), { recursive: true });
}

/** A defect of the encoder must not become an index. */
function checkKeys(keys: readonly Float32Array[], passages: number, dimension: number): void {
  if (keys.length !== passages)
    throw new Error(`encode returned ${keys.length} arrays for ${passages} passages`);
  for (const key of keys) {
    if (key.length === 0 || key.length % dimension !== 0)
      throw new Error(`encode returned ${key.length} numbers, not [tokens, ${dimension}]`);
    if (!key.every(Number.isFinite)) throw new Error("encode returned a key that is not finite");
  }
}

const duplicate = (id: string, ordinal: number, earlier: number): InputError =>
  new InputError({
    where: `passage ${ordinal + 1}`,
    expected: "an id of its own",
    got: `${JSON.stringify(id)}, the id of passage ${earlier + 1}`,
    remedy: "give every passage another id",
  });

const empty = (directory: string): InputError =>
  new InputError({
    where: directory,
    expected: "passages to index",
    got: "none",
    remedy: "see that the corpus is not empty",
  });
