/** Builds, extends and synchronises indexes with a loaded model. */

import { type ValueDocument, valueDocuments } from "../documents/document-values.ts";
import { isFolder } from "../documents/passage-file.ts";
import {
  type ResolvedReadOptions,
  readDocuments,
  reportSkipped,
  resolveReadOptions,
} from "../documents/read-documents.ts";
import { encodePassageKeys } from "../encoder/passage-keys.ts";
import { InputError } from "../io/errors.ts";
import { sharedWidth, vectorSize } from "../model/config.ts";
import { type PruningRule, pruningRule } from "../model/token-pruning.ts";
import { checkedDocuments } from "../options/arguments.ts";
import { INDEX_OPTIONS } from "../options/library-options.ts";
import type { Resolved } from "../options/option.ts";
import type { IndexHeader } from "../retrieval/index/format/manifest.ts";
import { packStates } from "../retrieval/index/format/packed-states.ts";
import { bitsOption } from "../retrieval/index/write/automatic-bits.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import type { BuildForecast } from "../retrieval/index/write/forecast.ts";
import {
  keptRows,
  keptTokenCount,
  pickRows,
  prunedByAttention,
} from "../retrieval/index/write/token-pruning.ts";
import type { AddRequest, Place, PlaceOptions } from "../retrieval/places/place.ts";
import { placeOf } from "../retrieval/places/place-of.ts";
import { seenFrom } from "../retrieval/places/searching-model.ts";
import { changeDocuments, type DocumentChanges, synchroniseDocuments } from "../sync/documents.ts";
import { readRecord } from "../sync/record.ts";
import { type SyncResult, synchronise } from "../sync/sync.ts";
import type { SyncTarget } from "../sync/target.ts";
import type { DocumentInput, Passage } from "../text/passage.ts";
import { passagePrompt, questionPrompt } from "../text/tokens/prompts.ts";
import { tokenizedWindows, tokensOutside } from "../text/tokens/windows.ts";
import { type LoadedModel, passageKeyModel } from "./loaded-model.ts";
import type { ADD, INDEX, SYNC } from "./options.ts";

/** The place of an index that is going to change, which takes long. */
const placeToWrite = ({ directory, wait, signal }: PlaceOptions & { directory: string }): Place =>
  placeOf(directory, { wait, signal, isPatient: true });

/** Builds an index. */
export async function build(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof INDEX>,
): Promise<void> {
  await using place = placeToWrite(options);
  await place.checkReplaceable(options);
  const { bits, replace, shard, linkBase, onProgress, signal } = options;
  const { header, ...keys } = keysOf(model, place, options, signal);
  const linked = { ...header, ...(linkBase !== undefined && { linkBase }) };
  await place.build(passages, { ...keys, header: linked, bits, replace, shard, onProgress });
}

/** Estimates the index that `build` makes. */
export async function forecast(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof INDEX>,
): Promise<BuildForecast> {
  await using place = placeToWrite(options);
  if (!place.folder) throw noForecast(place.name);
  const { tokenizer } = model;
  const { header } = keysOf(model, place, options);
  const { maxPassageTokens, pooling } = header;
  const windowsOf = (passage: Passage) => tokenizedWindows(tokenizer, passage, maxPassageTokens);
  const { signal } = options;
  const encode = (passages: readonly Passage[]): Promise<unknown> =>
    encodePassageKeys(passageKeyModel(model), passages, { maxPassageTokens, signal });
  const countStates = (passage: Passage): number =>
    windowsOf(passage).reduce((sum, { ids }) => sum + ids.length, 0);
  const countTokens = (passage: Passage): number =>
    pooling === undefined
      ? keptTokenCount(countStates(passage), options.keepRatio)
      : windowsOf(passage).length;
  const cutTokens = (passage: Passage): number =>
    tokensOutside(tokenizer, passage, maxPassageTokens);
  await place.checkReplaceable(options);
  const counts = { countTokens, countStates, cutTokens, encode };
  const { shard } = options;
  return await place.folder.forecast(passages, {
    ...counts,
    header,
    shard,
    bits: bitsOption(options),
  });
}

/** Adds passages to an index, with the options that it was built with. */
export async function add(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof ADD>,
): Promise<void> {
  await using place = placeToWrite(options);
  const { onProgress, signal } = options;
  const keys = keysOf(model, place, sameTokens(place, await place.header()), signal);
  await place.add(passages, { ...keys, onProgress });
}

/** Brings an index in step with a folder. */
export async function sync(
  model: LoadedModel,
  folder: string,
  options: Resolved<typeof SYNC>,
): Promise<SyncResult> {
  await using place = placeToWrite(options);
  const { target, reading } = await syncTarget(model, place, options);
  const { onProgress, delete: mayDelete } = options;
  return await synchronise(folder, target, { ...reading, mayDelete, onProgress });
}

/** Brings an index up to date with a folder, a file, or passages and documents as values. */
export async function bringUpToDate(
  model: LoadedModel,
  source: string | AsyncIterable<Passage | DocumentInput>,
  options: Resolved<typeof SYNC>,
): Promise<void> {
  if (typeof source === "string" && (await isFolder(source))) {
    const { skipped } = await sync(model, source, options);
    for (const one of skipped) reportSkipped(one);
    return;
  }
  await using place = placeToWrite(options);
  const { target, reading } = await syncTarget(model, place, options);
  const documents =
    typeof source === "string" ? fileDocument(source, reading) : valueDocuments(source, reading);
  const { delete: mayDelete, signal } = options;
  await synchroniseDocuments(documents, target, { mayDelete, splitting: reading, signal });
}

/** A file as one document, which is read at each call. */
async function* fileDocument(
  file: string,
  reading: Omit<ResolvedReadOptions, "onProgress">,
): AsyncGenerator<ValueDocument, void> {
  yield { id: file, passages: () => readDocuments(file, reading) };
}

/** Adds or replaces documents of an index, and deletes others by their ids. */
export async function changeIndex(
  model: LoadedModel,
  { values = [], deleted }: ChangedValues,
  options: Resolved<typeof SYNC>,
): Promise<DocumentChanges> {
  await using place = placeToWrite(options);
  const { target, reading } = await syncTarget(model, place, options);
  const documents = valueDocuments(checkedDocuments(values), reading);
  const { signal } = options;
  return await changeDocuments({ documents, deleted }, target, { splitting: reading, signal });
}

interface ChangedValues {
  readonly values?: unknown;
  readonly deleted?: readonly string[] | undefined;
}

/** The index of a place for `sync`, and the options that its documents are read with. */
async function syncTarget(
  model: LoadedModel,
  place: Place,
  { directory: _, wait: __, delete: ___, onProgress, signal, ...splitting }: Resolved<typeof SYNC>,
): Promise<{
  readonly target: SyncTarget;
  readonly reading: Omit<ResolvedReadOptions, "onProgress">;
}> {
  const found = await place.find();
  const tokens = found ? sameTokens(place, found.header) : DEFAULT_TOKENS;
  const keys = keysOf(model, place, tokens, signal);
  const record = await readRecord(place);
  const before = record && {
    ...record.splitting,
    ...(record.include && { include: record.include }),
    ...(record.ignore && { ignore: record.ignore }),
  };
  const given = Object.entries(splitting).filter(([, value]) => value !== undefined);
  const { onProgress: ____, ...reading } = resolveReadOptions({
    ...before,
    ...Object.fromEntries(given),
    maxPassageTokens: tokens.maxPassageTokens,
    tokenizer: model.tokenizer,
    signal,
  });
  const ofTotal = (total: number): AddRequest => ({
    ...keys,
    onProgress: (progress: BuildProgress) => onProgress?.({ ...progress, total }),
  });
  return { target: { place, keysOf: ofTotal }, reading };
}

/** The header of an index, and the functions that make its keys. */
function keysOf(
  model: LoadedModel,
  { folder, address }: Place,
  {
    maxPassageTokens,
    keepRatio,
    keepStates,
    pruning = pruningRule(model.config.pruning, keepRatio),
  }: IndexedShare,
  signal?: AbortSignal,
): AddRequest {
  const { config, tokenizer } = model;
  const { fingerprint, statesFingerprint, model: made } = model.searching;
  const { pooling } = config.retrievalAttention;
  if (pooling !== undefined && keepRatio < 1) throw nothingToPrune(keepRatio);
  const header: IndexHeader = {
    fingerprint,
    ...(made && { model: seenFrom(folder && address, made) }),
    dimension: vectorSize(config),
    maxPassageTokens,
    ...(keepRatio < 1 && { keepTokens: keepRatio, pruning }), // the names on disk
    ...(pooling && { pooling }),
    ...(keepStates && {
      states: { fingerprint: statesFingerprint, size: sharedWidth(config) },
    }),
    prompts: {
      question: questionPrompt("{question}", tokenizer.prompts),
      passage: passagePrompt({ title: "{title}", text: "{text}" }, tokenizer.prompts),
    },
  };
  const { dimension } = header;
  const prune =
    keepRatio < 1
      ? (keys: Float32Array) => pickRows(keys, keptRows(keys, header), dimension)
      : undefined;
  const shared = { maxPassageTokens, prune, withStates: keepStates, signal };
  const pack = (states: Float32Array) => packStates(states, sharedWidth(config));
  const encode: AddRequest["encode"] = (passages, onProgress, { known, add }) =>
    encodePassageKeys(passageKeyModel(model), passages, {
      ...shared,
      onProgress,
      known,
      onRun: ({ positions, keys, states }) => add(positions, keys, states?.map(pack)),
    });
  // A whole passage with fewer keys is not cut, so it need not be tokenized again.
  const fullLength = pooling === undefined && keepRatio === 1 ? maxPassageTokens : 1;
  const cutTokens: AddRequest["cutTokens"] = (passage, keys) =>
    keys < fullLength ? 0 : tokensOutside(tokenizer, passage, maxPassageTokens);
  return { header, encode, cutTokens };
}

/** How long passages are, which of their tokens get a key, and whether the index holds states. */
interface IndexedShare
  extends Pick<Resolved<typeof INDEX>, "maxPassageTokens" | "keepRatio" | "keepStates"> {
  /** Default: the rule of the model. */
  readonly pruning?: PruningRule | undefined;
}

const DEFAULT_TOKENS: IndexedShare = {
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens.parse(undefined),
  keepRatio: 1,
  keepStates: false,
};

/**
 * What additions to an index are encoded with.
 *
 * @throws {InputError} if an earlier version pruned the index
 */
function sameTokens({ name }: Place, header: IndexHeader): IndexedShare {
  const { maxPassageTokens, keepTokens, pruning, states } = header;
  if (keepTokens !== undefined && pruning === undefined) throw prunedByAttention(name);
  const keepStates = states !== undefined;
  return { maxPassageTokens, keepRatio: keepTokens ?? 1, keepStates, pruning };
}

const noForecast = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "directory",
    expected: "a folder, whose index has a size that can be estimated",
    got: `the address ${where.split(":", 1)[0]}://`,
    remedy: "multiply the bytes of a passage in docs/SCALE.md",
  });

const nothingToPrune = (keepRatio: number): InputError =>
  new InputError({
    where: "keepRatio",
    expected: "1 with a model that has one vector for a passage (retrieval_pooling)",
    got: String(keepRatio),
    remedy: "leave it out",
  });
