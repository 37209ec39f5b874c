/** Writes the token keys of an index to a LanceDB table (lance.ts), or updates the table. */

import type { Table } from "@lancedb/lancedb";
import type { DataType, FixedSizeList, RecordBatch, Schema } from "apache-arrow";
import { InputError } from "../../io/errors.ts";
import { checkPath } from "../../options/arguments.ts";
import { LANCE_OPTIONS } from "../../options/library-options.ts";
import { callback, type Given, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { IndexHeader } from "../index/format/manifest.ts";
import type { Segment } from "../index/format/segment.ts";
import { openSnapshot, type Snapshot } from "../index/format/snapshot.ts";
import { type KeyPiece, openStore } from "../index/format/store.ts";
import {
  connect,
  type Lance,
  lanceError,
  loadLance,
  segmentNumber,
  stateTag,
  TABLE,
} from "./lance.ts";

const OPTIONS = {
  /** The place of the table: a folder, or an object store, such as `s3://bucket/folder`. */
  uri: LANCE_OPTIONS.uri,
  /** Receives how far the export is. */
  onProgress: callback<(progress: LanceExportProgress) => void>(),
  ...SIGNAL,
};

/** After `signal` stops an export, the same call continues it. */
export interface LanceExportOptions extends Given<typeof SIGNAL>, Given<typeof OPTIONS> {}

export interface LanceExportProgress {
  /**
   * `copied`: `tokens` keys are in the table. `indexing`: all are, and LanceDB sorts them into
   * partitions.
   */
  readonly event: "copied" | "indexing" | "finished";
  /** Token keys that are in the table. */
  readonly tokens: number;
  /** Token keys of the index. */
  readonly total: number;
}

/** Token keys in one write: about 30 MB. */
const BATCH_ROWS = 131_072;
/**
 * The least number of keys for an IVF-PQ index: 16 for each of the 256 codewords. Below it, a
 * search compares all keys.
 */
const MIN_INDEXED_KEYS = 4096;

/**
 * Writes the token keys of the index in `directory` to the LanceDB table at `uri`, or updates the
 * table to the current generation: adds the keys of new segments and removes those of segments that
 * no longer exist.
 *
 * Readers of the table keep the version that they opened. The new version can be opened when all
 * its keys are written. After an interruption, the same call continues. Run one export to a place
 * at a time. The table takes 4 bytes a dimension of each token key, and more for its index.
 *
 * Source: https://lancedb.github.io/lancedb/js
 *
 * @param directory the index to read
 * @throws {InputError} if LanceDB is not installed, if the place cannot be written, or if the table
 * holds the keys of another model
 * @example
 * ```ts no-run
 * import { exportToLance, ReAtt } from "reatt";
 *
 * await exportToLance("index", { uri: "s3://bucket/token-keys" });
 * await using model = await ReAtt.load("models/reatt-mini");
 * await using index = await model.openIndex("index", {
 *   engine: { name: "lancedb", uri: "s3://bucket/token-keys" },
 * });
 * ```
 */
export async function exportToLance(directory: string, options: LanceExportOptions): Promise<void> {
  checkPath(directory, "directory");
  const settings = resolveOptions(OPTIONS, options);
  const lance = loadLance();
  await using snapshot = await openSnapshot(directory);
  try {
    await exportSegments(lance, snapshot, settings);
  } catch (error) {
    throw error instanceof InputError || settings.signal?.aborted
      ? error
      : lanceError(settings.uri, "to be able to write the table", error);
  }
}

async function exportSegments(
  lance: Lance,
  { manifest: { header, segments: records }, segments }: Snapshot,
  { uri, onProgress, signal }: LanceExportOptions,
): Promise<void> {
  const total = records.reduce((sum, { tokens }) => sum + tokens, 0);
  const report = (event: LanceExportProgress["event"], tokens = total) =>
    onProgress?.({ event, tokens, total });
  const table = await openTable(lance, header, uri);
  const tags = await table.tags();
  const tag = stateTag(records);
  if (!(tag in (await tags.list()))) {
    let copied = 0;
    for (const segment of segments) {
      await copySegment(
        lance,
        table,
        segment,
        header.dimension,
        (tokens) => report("copied", copied + tokens),
        signal,
      );
      copied += segment.record.tokens;
    }
    signal?.throwIfAborted();
    const kept = records.map((record) => `segment = ${segmentNumber(record)}`);
    await table.delete(`NOT (${["false", ...kept].join(" OR ")})`);
    report("indexing");
    await partition(lance, table, header.dimension);
    if ((await table.countRows()) !== total) throw changedMeanwhile(uri);
    await tags.create(tag, await table.version());
    await forgetOthers(table, tag);
  }
  report("finished");
}

/** Opens the table at `uri`, or creates it. */
async function openTable(
  lance: Lance,
  { fingerprint, dimension }: IndexHeader,
  uri: string,
): Promise<Table> {
  const connection = await connect(lance, uri);
  const table = (await connection.tableNames()).includes(TABLE)
    ? await connection.openTable(TABLE)
    : await connection.createEmptyTable(TABLE, schemaOf(lance, dimension, fingerprint));
  const of = (await table.schema()).metadata.get("fingerprint");
  if (of === fingerprint) return table;
  throw new InputError({
    where: uri,
    expected: `a table of the model ${fingerprint}`,
    got: `one of the model ${of}`,
    remedy: "choose another place",
  });
}

function schemaOf({ arrow }: Lance, dimension: number, fingerprint: string): Schema {
  const field = (name: string, type: DataType) => new arrow.Field(name, type, false);
  const key = new arrow.FixedSizeList(dimension, field("item", new arrow.Float32()));
  return new arrow.Schema(
    [field("segment", new arrow.Uint32()), field("passage", new arrow.Uint32()), field("key", key)],
    new Map([["fingerprint", fingerprint]]),
  );
}

/**
 * Adds the keys of a segment, unless the table has them. Removes what an interrupted export left.
 */
async function copySegment(
  lance: Lance,
  table: Table,
  segment: Segment,
  dimension: number,
  onTokens: (tokens: number) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const number = segmentNumber(segment.record);
  const there = await table.countRows(`segment = ${number}`);
  if (there === segment.record.tokens) return onTokens(there);
  if (there > 0) await table.delete(`segment = ${number}`);
  const schema = (await table.schema()) as Schema;
  let tokens = 0;
  for await (const pieces of groupsOf(segment, dimension, signal)) {
    await table.add(
      new lance.arrow.Table(
        schema,
        pieces.map((piece) => rowsOf(lance, schema, number, piece)),
      ),
    );
    for (const { starts } of pieces) tokens += starts.at(-1)!;
    onTokens(tokens);
  }
}

async function* groupsOf(
  segment: Segment,
  dimension: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<KeyPiece[]> {
  let group: KeyPiece[] = [];
  let rows = 0;
  for await (const piece of openStore([segment], dimension).pieces({ signal })) {
    group.push(piece);
    rows += piece.starts.at(-1)!;
    if (rows < BATCH_ROWS) continue;
    yield group;
    group = [];
    rows = 0;
  }
  if (group.length > 0) yield group;
}

function rowsOf(
  { arrow }: Lance,
  schema: Schema,
  segment: number,
  { ordinals, starts, keys }: KeyPiece,
): RecordBatch {
  const length = starts.at(-1)!;
  const passages = new Uint32Array(length);
  for (const [p, ordinal] of ordinals.entries()) passages.fill(ordinal, starts[p]!, starts[p + 1]!);
  const integers = (data: Uint32Array) => arrow.makeData({ type: new arrow.Uint32(), data });
  const numbers = arrow.makeData({ type: new arrow.Float32(), data: keys });
  const lists = arrow.makeData({
    type: schema.fields[2]!.type as FixedSizeList,
    length,
    child: numbers,
  });
  const children = [integers(new Uint32Array(length).fill(segment)), integers(passages), lists];
  return new arrow.RecordBatch(
    schema,
    arrow.makeData({ type: new arrow.Struct(schema.fields), length, children }),
  );
}

/**
 * Sorts the keys into the partitions of an IVF-PQ index by inner product, with one byte for 4
 * dimensions. If most keys are new, LanceDB learns the partitions again; otherwise it adds the new
 * keys to the existing ones.
 */
async function partition({ lancedb }: Lance, table: Table, dimension: number): Promise<void> {
  const statistics = await table.indexStats("key_idx");
  if (statistics && statistics.numUnindexedRows <= statistics.numIndexedRows) {
    // LanceDB does not remove versions with a tag
    await table.optimize({ cleanupOlderThan: new Date(0) });
  } else if ((await table.countRows()) >= MIN_INDEXED_KEYS) {
    const numSubVectors = dimension % 4 === 0 ? dimension / 4 : dimension;
    await table.createIndex("key", {
      config: lancedb.Index.ivfPq({ distanceType: "dot", numSubVectors }),
    });
  }
}

/**
 * Removes the tags of earlier generations. LanceDB removes their files after seven days, so readers
 * that have one open can finish.
 */
async function forgetOthers(table: Table, tag: string): Promise<void> {
  const tags = await table.tags();
  for (const other of Object.keys(await tags.list())) if (other !== tag) await tags.delete(other);
  await table.optimize();
}

const changedMeanwhile = (uri: string): InputError =>
  new InputError({
    where: uri,
    expected: "no other writer of the table",
    got: "rows of another writer",
    remedy: "run one export at a time",
  });
