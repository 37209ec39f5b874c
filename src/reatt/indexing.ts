/** Builds, extends and synchronises indexes with a loaded model. */

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
import { INDEX_OPTIONS } from "../options/library-options.ts";
import type { Resolved } from "../options/option.ts";
import {
  findManifest,
  type IndexHeader,
  readManifest,
} from "../retrieval/index/format/manifest.ts";
import { packStates } from "../retrieval/index/format/packed-states.ts";
import { addPassages } from "../retrieval/index/maintain/update.ts";
import { bitsOption } from "../retrieval/index/write/automatic-bits.ts";
import {
  type BuildOptions,
  type BuildProgress,
  buildIndex,
} from "../retrieval/index/write/build.ts";
import { type BuildForecast, forecastBuild } from "../retrieval/index/write/forecast.ts";
import {
  keptRows,
  keptTokenCount,
  pickRows,
  prunedByAttention,
} from "../retrieval/index/write/token-pruning.ts";
import { checkReplaceable } from "../retrieval/index/write/transaction.ts";
import { deletePassages } from "../retrieval/maintain.ts";
import { connectStore, isStoreAddress, schemeOf } from "../retrieval/places/address.ts";
import { importPassages } from "../retrieval/places/stores/import.ts";
import { checkUnfinished } from "../retrieval/places/stores/import-parts.ts";
import { findProperties, readProperties } from "../retrieval/places/stores/properties.ts";
import { IMPORT_PAUSES, retrying } from "../retrieval/places/stores/retry.ts";
import type { Store } from "../retrieval/places/stores/store.ts";
import { folderTarget } from "../sync/folder-target.ts";
import { synchronisePassages } from "../sync/passages.ts";
import { storeTarget, syncStore } from "../sync/store-target.ts";
import { type SyncResult, synchronise } from "../sync/sync.ts";
import type { SyncTarget } from "../sync/target.ts";
import type { Passage } from "../text/passage.ts";
import { passageIds, passagePrompt, questionPrompt, tokensOver } from "../text/tokens/prompts.ts";
import { type LoadedModel, passageKeyModel } from "./loaded-model.ts";
import type { ADD, INDEX, SYNC } from "./options.ts";

/** Builds an index. */
export async function build(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof INDEX>,
): Promise<void> {
  if (isStoreAddress(options.directory)) return buildInStore(model, passages, options);
  await checkReplaceable(options.directory, options.replace);
  const keys = keysOf(model, options, options.signal);
  await buildIndex(passages, { ...options, ...keys, bits: bitsOption(options) });
}

/** Imports passages into a collection of a store. */
async function buildInStore(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof INDEX>,
): Promise<void> {
  const { directory, replace, shard, keepStates, signal } = options;
  if (keepStates) throw noStates(directory);
  await using store = retrying(await connectStore(directory), IMPORT_PAUSES, signal);
  if (replace) await store.drop();
  else if (!shard) await checkUnfinished(store);
  const keys = keysOf(model, options, signal);
  const bits = bitsOption({ bits: options.bits });
  await importPassages(store, passages, { ...options, ...keys, bits, isImport: true });
}

/** Estimates the index that `build` makes. */
export async function forecast(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof INDEX>,
): Promise<BuildForecast> {
  if (isStoreAddress(options.directory)) throw noForecast(options.directory);
  const { tokenizer } = model;
  const { header } = keysOf(model, options);
  const { maxPassageTokens, pooling } = header;
  const countStates = (passage: Passage): number =>
    passageIds(tokenizer, passage, maxPassageTokens).length;
  const countTokens = (passage: Passage): number =>
    pooling === undefined ? keptTokenCount(countStates(passage), options.keepRatio) : 1;
  const cutTokens = (passage: Passage): number => tokensOver(tokenizer, passage, maxPassageTokens);
  await checkReplaceable(options.directory, options.replace);
  const counts = { countTokens, countStates, cutTokens };
  return forecastBuild(passages, { ...options, ...counts, header, bits: bitsOption(options) });
}

/** Adds passages to an index, with the options that it was built with. */
export async function add(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  options: Resolved<typeof ADD>,
): Promise<void> {
  if (isStoreAddress(options.directory)) return addToStore(model, passages, options);
  const { header } = await readManifest(options.directory);
  const keys = keysOf(model, sameTokens(options.directory, header), options.signal);
  await addPassages(passages, { ...options, ...keys });
}

async function addToStore(
  model: LoadedModel,
  passages: AsyncIterable<Passage>,
  { directory, onProgress, signal }: Resolved<typeof ADD>,
): Promise<void> {
  await using store = retrying(await connectStore(directory), IMPORT_PAUSES, signal);
  const { header } = await readProperties(store);
  const keys = keysOf(model, sameTokens(store.address, header), signal);
  const options = { ...keys, onProgress, signal, bits: undefined, isImport: false };
  await importPassages(store, passages, options);
}

/** Brings an index in step with a folder. */
export async function sync(
  model: LoadedModel,
  folder: string,
  options: Resolved<typeof SYNC>,
): Promise<SyncResult> {
  await using opened = await openTarget(model, options);
  const { target, reading } = opened;
  return await synchronise(folder, target, { ...reading, onProgress: options.onProgress });
}

/** Brings an index up to date with a folder, a file or passages. */
export async function bringUpToDate(
  model: LoadedModel,
  source: string | AsyncIterable<Passage>,
  options: Resolved<typeof SYNC>,
): Promise<void> {
  if (typeof source === "string" && (await isFolder(source))) {
    const { skipped } = await sync(model, source, options);
    for (const one of skipped) reportSkipped(one);
    return;
  }
  await using opened = await openTarget(model, options);
  const { target, reading } = opened;
  const passages = typeof source === "string" ? readDocuments(source, reading) : source;
  await synchronisePassages(passages, target, options.signal);
}

/** An index that is synchronised, without what changes it, and what it was built with. */
interface Target extends AsyncDisposable {
  readonly reader: Omit<SyncTarget, "create" | "update">;
  /** Undefined if there is no index. */
  readonly header: IndexHeader | undefined;
  /** The collection of a store. */
  readonly store?: Store;
}

async function findTarget({
  directory,
  wait,
  signal,
}: Pick<Resolved<typeof SYNC>, "directory" | "wait" | "signal">): Promise<Target> {
  if (!isStoreAddress(directory)) {
    const header = (await findManifest(directory))?.header;
    const reader = folderTarget(directory, { wait, signal });
    return { reader, header, async [Symbol.asyncDispose]() {} };
  }
  const store = syncStore(retrying(await connectStore(directory), IMPORT_PAUSES, signal));
  const dispose = () => store[Symbol.asyncDispose]();
  try {
    const header = (await findProperties(store))?.header;
    return { reader: storeTarget(store), header, store, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The index in `directory` for `sync`, and the options that its documents are read with. */
async function openTarget(
  model: LoadedModel,
  { directory, wait, onProgress, signal, ...splitting }: Resolved<typeof SYNC>,
): Promise<
  AsyncDisposable & {
    readonly target: SyncTarget;
    readonly reading: Omit<ResolvedReadOptions, "onProgress">;
  }
> {
  const found = await findTarget({ directory, wait, signal });
  const { reader, header, store } = found;
  const tokens = header ? sameTokens(reader.directory, header) : DEFAULT_TOKENS;
  const keys = keysOf(model, tokens, signal);
  const record = await reader.readRecord();
  const before = record && {
    ...record.splitting,
    ...(record.include && { include: record.include }),
    ...(record.ignore && { ignore: record.ignore }),
  };
  const given = Object.entries(splitting).filter(([, value]) => value !== undefined);
  const { onProgress: _, ...options } = resolveReadOptions({
    ...before,
    ...Object.fromEntries(given),
    maxPassageTokens: tokens.maxPassageTokens,
    tokenizer: model.tokenizer,
    signal,
  });
  const work = (total: number) => ({
    ...keys,
    directory,
    wait,
    signal,
    bits: "automatic" as const,
    onProgress: (progress: BuildProgress) => onProgress?.({ ...progress, total }),
  });
  const changes: Pick<SyncTarget, "create" | "update"> = store
    ? {
        create: (passages, count) =>
          importPassages(store, passages, { ...work(count), isImport: true }),
        async update(passages, count, { deleted }) {
          if (passages) await importPassages(store, passages, { ...work(count), isImport: false });
          await store.delete(deleted);
        },
      }
    : {
        create: (passages, count) => buildIndex(passages, work(count)),
        update: (passages, count, { deleted, labels }) =>
          passages || labels.length > 0
            ? addPassages(passages, { ...work(count), deleted, labels })
            : deletePassages(deleted, { directory, wait, signal }),
      };
  const dispose = () => found[Symbol.asyncDispose]();
  return { target: { ...reader, ...changes }, reading: options, [Symbol.asyncDispose]: dispose };
}

/** The header of an index, and the functions that make its keys. */
function keysOf(
  model: LoadedModel,
  {
    maxPassageTokens,
    keepRatio,
    keepStates,
    linkBase,
    pruning = pruningRule(model.config.pruning, keepRatio),
  }: IndexedShare,
  signal?: AbortSignal,
): Pick<BuildOptions, "header" | "encode" | "cutTokens"> {
  const { config, tokenizer } = model;
  const { fingerprint, statesFingerprint } = model.searching;
  const { pooling } = config.retrievalAttention;
  if (pooling !== undefined && keepRatio < 1) throw nothingToPrune(keepRatio);
  const header: IndexHeader = {
    fingerprint,
    dimension: vectorSize(config),
    maxPassageTokens,
    ...(keepRatio < 1 && { keepTokens: keepRatio, pruning }), // the names on disk
    ...(pooling && { pooling }),
    ...(keepStates && {
      states: { fingerprint: statesFingerprint, size: sharedWidth(config) },
    }),
    ...(linkBase !== undefined && { linkBase }),
    prompts: {
      question: questionPrompt("{question}"),
      passage: passagePrompt({ title: "{title}", text: "{text}" }),
    },
  };
  const { dimension } = header;
  const prune =
    keepRatio < 1
      ? (keys: Float32Array) => pickRows(keys, keptRows(keys, header), dimension)
      : undefined;
  const shared = { maxPassageTokens, prune, withStates: keepStates, signal };
  const pack = (states: Float32Array) => packStates(states, sharedWidth(config));
  const encode: BuildOptions["encode"] = (passages, onProgress, { known, add }) =>
    encodePassageKeys(passageKeyModel(model), passages, {
      ...shared,
      onProgress,
      known,
      onRun: ({ positions, keys, states }) => add(positions, keys, states?.map(pack)),
    });
  // A whole passage with fewer keys is not cut, so it need not be tokenized again.
  const fullLength = pooling === undefined && keepRatio === 1 ? maxPassageTokens : 1;
  const cutTokens: BuildOptions["cutTokens"] = (passage, keys) =>
    keys < fullLength ? 0 : tokensOver(tokenizer, passage, maxPassageTokens);
  return { header, encode, cutTokens };
}

/** How long passages are, which of their tokens get a key, and whether the index holds states. */
interface IndexedShare
  extends Pick<Resolved<typeof INDEX>, "maxPassageTokens" | "keepRatio" | "keepStates"> {
  readonly linkBase?: string | undefined;
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
function sameTokens(directory: string, header: IndexHeader): IndexedShare {
  const { maxPassageTokens, keepTokens, pruning, states, linkBase } = header;
  if (keepTokens !== undefined && pruning === undefined) throw prunedByAttention(directory);
  const keepStates = states !== undefined;
  return { maxPassageTokens, keepRatio: keepTokens ?? 1, keepStates, pruning, linkBase };
}

const noForecast = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "directory",
    expected: "a folder, whose index has a size that can be estimated",
    got: `the address ${schemeOf(where)}://`,
    remedy: "multiply the bytes of a passage in docs/SCALE.md",
  });

const noStates = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where,
    expected: "no states for reading, which a store does not keep",
    got: "keepStates",
    remedy: "leave it out",
  });

const nothingToPrune = (keepRatio: number): InputError =>
  new InputError({
    where: "keepRatio",
    expected: "1 with a model that has one vector for a passage (retrieval_pooling)",
    got: String(keepRatio),
    remedy: "leave it out",
  });
