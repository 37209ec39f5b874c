/**
 * Downloads models from the Hugging Face hub into its cache.
 *
 * `snapshotDownload` of @huggingface/hub 2.17 writes the same cache, but it does not continue a
 * download that was stopped, has no lock against a second process, compares no checksum, cannot be
 * aborted, reports no progress and takes every file of a repository: also weights in other formats.
 * So requests and cache are here; the package lists files and gives types.
 */

import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ListFileEntry } from "@huggingface/hub";
import { isShardIndex, shardsOf } from "../checkpoints/open.ts";
import { createDirectory } from "../io/create-directory.ts";
import { InputError, writeErrorFrom } from "../io/errors.ts";
import { waitForLock } from "../io/lock.ts";
import {
  cachedSnapshot,
  linkBlob,
  type RepositoryCache,
  repositoryCache,
  writeRef,
} from "./cache.ts";
import { chooseFiles, isComplete } from "./model-files.ts";
import { type HubModel, hubName, isCommit } from "./model-name.ts";
import { type ExpectedFile, holds, PartialFile } from "./partial-file.ts";
import { hubFetch, isUnreachable, unreachable } from "./requests.ts";
import { type HubSettings, readHubSettings } from "./settings.ts";
import { type Stall, stallAfter } from "./stall.ts";

/** The progress of `ReAtt.load` for a model of the hub that is not in the cache. */
export type DownloadProgress =
  /** Another process downloads the model. */
  | { readonly event: "waiting"; readonly model: string }
  /** `bytes` of `total` bytes of all files are there. */
  | {
      readonly event: "downloading";
      readonly model: string;
      readonly bytes: number;
      readonly total: number;
    };

export interface DownloadOptions {
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** Stops the download. The next one continues it. */
  readonly signal?: AbortSignal | undefined;
}

/** Attempts without a byte, after which a download ends. */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;
/** Fewer bytes in the time limit are no progress: 2 kB/s would take days for a model. */
const ADVANCE_BYTES = 65_536;
/** The limits of a reply about a model and of its list of files, whose pages have 1,000 each. */
const MAX_REPLY_BYTES = 20_000_000;
const MAX_FILES = 100_000;

/** A model, the cache that it goes to, and what requests need. */
interface Source {
  readonly model: HubModel;
  readonly settings: HubSettings;
  readonly cache: RepositoryCache;
  /** The caller stops the download. */
  readonly stopped: AbortSignal;
  /** Ends a download that does not advance. */
  readonly stall: Stall;
}

/**
 * The folder of a model of the hub. Downloads what is missing in the cache. Without a connection,
 * the cached model is used.
 *
 * @throws {InputError} if there is no such model, this user may not read it, it has no files that
 * reatt reads, or the hub cannot be reached and the model is not in the cache
 */
export async function downloadModel(
  model: HubModel,
  { onProgress = () => {}, signal = new AbortController().signal }: DownloadOptions,
): Promise<string> {
  const settings = await readHubSettings();
  const cache = repositoryCache(settings.cache, model.repository);
  const cached = await cachedSnapshot(cache, model);
  if (cached !== undefined && (settings.offline || isCommit(model.revision))) return cached;
  if (settings.offline) throw notCached(model, settings);
  using stall = stallAfter(settings.timeout, signal);
  const source = { model, settings, cache, stopped: signal, stall };
  try {
    const commit = await commitOf(source);
    if (cached !== cache.snapshot(commit)) await downloadSnapshot(source, commit, onProgress);
    return cache.snapshot(commit);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnreachable(error) && cached !== undefined) return cached;
    throw writeErrorFrom(error, settings.cache);
  }
}

const notCached = (model: HubModel, { cache }: HubSettings): InputError =>
  new InputError({
    code: "ERR_REATT_NO_MODEL",
    where: hubName(model),
    expected: `a folder, or a model in the cache ${cache}`,
    got: "neither, and HF_HUB_OFFLINE is set",
    remedy: "download it first, without HF_HUB_OFFLINE",
  });

/** Arguments of the functions of the hub's library. */
const access = ({ model, settings, stall }: Source, revision: string, maxBytes?: number) => ({
  repo: model.repository,
  revision,
  hubUrl: settings.endpoint,
  fetch: hubFetch(model, settings, stall.signal, maxBytes),
  ...(settings.token !== undefined && { accessToken: settings.token }),
});

/**
 * Asks about a model. A reply that is not one of the hub's API counts as none: a network may answer
 * for the hub with a page to log in.
 */
async function asking<Result>(source: Source, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    source.stopped.throwIfAborted();
    if (error instanceof InputError) throw error;
    const isLate = source.stall.signal.aborted;
    const got = isLate ? "no reply in time" : "a reply that is not the hub's";
    throw unreachable(source.model, source.settings.endpoint, got, { cause: error });
  }
}

/** The commit of the model's branch or tag. */
async function commitOf(source: Source): Promise<string> {
  const { modelInfo } = await import("@huggingface/hub");
  const { model, settings } = source;
  const { sha } = await asking(source, () =>
    modelInfo({
      ...access(source, model.revision, MAX_REPLY_BYTES),
      name: model.repository,
      additionalFields: ["sha"],
    }),
  );
  if (typeof sha === "string" && isCommit(sha)) return sha;
  throw unreachable(model, settings.endpoint, "a reply without a commit");
}

/**
 * Downloads a commit and records it as that of the model's branch or tag. One process does; others
 * wait for it.
 */
async function downloadSnapshot(
  source: Source,
  commit: string,
  onProgress: (progress: DownloadProgress) => void,
): Promise<void> {
  const { model, cache, stopped: signal, stall } = source;
  await createDirectory(cache.locks);
  const onWait = (): void => {
    stall.pause();
    onProgress({ event: "waiting", model: hubName(model) });
  };
  await using _ = await waitForLock(cache.locks, { onWait, signal });
  stall.resume();
  if (!(await isComplete(cache.snapshot(commit)))) await downloadFiles(source, commit, onProgress);
  await writeRef(cache, model.revision, commit);
}

async function downloadFiles(
  source: Source,
  commit: string,
  onProgress: (progress: DownloadProgress) => void,
): Promise<void> {
  const { model, cache } = source;
  const name = hubName(model);
  const entries = await listFiles(source, commit);
  const { files, weights } = chooseFiles(name, new Set(entries.keys()));
  const fetchFile = (file: string, onBytes: (bytes: number) => void) =>
    downloadFile(source, commit, entryOf(name, entries, file), onBytes);
  if (isShardIndex(weights)) await fetchFile(weights, () => {});
  const shards = isShardIndex(weights) ? await shardsOf(join(cache.snapshot(commit), weights)) : [];
  const all = [...files, ...shards];
  const total = all.reduce((sum, file) => sum + entryOf(name, entries, file).size, 0);
  let done = 0;
  for (const file of all) {
    await fetchFile(file, (bytes) =>
      onProgress({ event: "downloading", model: name, bytes: done + bytes, total }),
    );
    done += entryOf(name, entries, file).size;
  }
}

type Entries = ReadonlyMap<string, ListFileEntry>;

async function listFiles(source: Source, commit: string): Promise<Entries> {
  const { listFiles } = await import("@huggingface/hub");
  return asking(source, async () => {
    const entries = new Map<string, ListFileEntry>();
    for await (const entry of listFiles({
      ...access(source, commit, MAX_REPLY_BYTES),
      recursive: true,
    })) {
      if (entry.type === "file") entries.set(entry.path, entry);
      if (entries.size > MAX_FILES) throw new Error(`more than ${MAX_FILES} files`);
    }
    return entries;
  });
}

function entryOf(where: string, entries: Entries, file: string): ListFileEntry {
  const entry = entries.get(file);
  if (entry) return entry;
  const remedy = "name a model whose files are complete";
  throw new InputError({ where, expected: `a file ${file}`, got: "none", remedy });
}

/** Downloads a file into the blobs, unless it is there, and links it into the snapshot. */
async function downloadFile(
  source: Source,
  commit: string,
  entry: ListFileEntry,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const expected = expectedOf(source, entry);
  const blob = source.cache.blob(expected.hash);
  if (!(await holds(blob, expected))) {
    await createDirectory(dirname(blob));
    await downloadBlob(source, commit, entry.path, { ...expected, blob }, onBytes);
  }
  source.stall.advance();
  onBytes(expected.bytes);
  await linkBlob(blob, join(source.cache.snapshot(commit), entry.path));
}

function expectedOf({ model, settings }: Source, { lfs, oid, size }: ListFileEntry): ExpectedFile {
  const hash = lfs?.oid ?? oid ?? "";
  // The hash becomes a file name.
  if (/^([\da-f]{40}|[\da-f]{64})$/.test(hash) && Number.isSafeInteger(size) && size >= 0)
    return { hash, bytes: size };
  throw unreachable(model, settings.endpoint, "a list of files without sizes or hashes");
}

/** Downloads a blob. Continues after a lost connection, and what an earlier process left. */
async function downloadBlob(
  source: Source,
  commit: string,
  path: string,
  file: ExpectedFile & { readonly blob: string },
  onBytes: (bytes: number) => void,
): Promise<void> {
  const first = await completeBlob(source, commit, path, file, onBytes);
  if (first.isWhole) return;
  // What was left can be of another file. It is gone now.
  if (first.hadPart && (await completeBlob(source, commit, path, file, onBytes)).isWhole) return;
  throw new InputError({
    code: "ERR_REATT_NO_HUB",
    where: `${hubName(source.model)}: ${path}`,
    expected: `${file.bytes} bytes with the hash ${file.hash}`,
    got: "another file",
    remedy: "download it again",
  });
}

/** Downloads the rest of a blob. Says if it has its hash, and if a part of it was there before. */
async function completeBlob(
  source: Source,
  commit: string,
  path: string,
  { blob, ...expected }: ExpectedFile & { readonly blob: string },
  onBytes: (bytes: number) => void,
): Promise<{ readonly isWhole: boolean; readonly hadPart: boolean }> {
  // Not the name that the Python library has for it: that library may write there meanwhile.
  await using partial = await PartialFile.open(`${blob}.reatt.incomplete`, expected);
  const hadPart = partial.size > 0;
  for (let attempt = 1; partial.size < expected.bytes; ) {
    const { size } = partial;
    try {
      await appendRest(source, commit, path, partial, onBytes);
      break;
    } catch (error) {
      source.stopped.throwIfAborted();
      const isFinal = error instanceof InputError && !isUnreachable(error);
      attempt = partial.size > size ? 1 : attempt + 1;
      if (isFinal) throw error;
      if (attempt > ATTEMPTS || source.stall.signal.aborted) throw lostConnection(source, error);
      const pause = FIRST_PAUSE_MS * 2 ** (attempt - 2);
      // After an abort, the next attempt ends at once.
      await sleep(pause, undefined, { signal: source.stall.signal }).catch(() => {});
    }
  }
  return { isWhole: await partial.finish(blob), hadPart };
}

/** Requests the bytes that are missing, and appends them as they come. */
async function appendRest(
  source: Source,
  commit: string,
  path: string,
  partial: PartialFile,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { downloadFile } = await import("@huggingface/hub");
  const { fetch, ...repository } = access(source, commit);
  const last = watched(fetch);
  try {
    const blob = await downloadFile({
      ...repository,
      path,
      fetch: last.fetch,
      xet: false, // the hub serves all files over plain HTTP as well, from any position on
    });
    if (!blob) throw unreachable(source.model, source.settings.endpoint, `no ${path}`);
    let isFirst = true;
    let advanced = partial.size;
    for await (const chunk of chunksOf(blob.slice(partial.size))) {
      if (isFirst && last.isWhole) await partial.restart();
      isFirst = false;
      await partial.append(chunk);
      if (partial.isTooLong) return;
      if (partial.size - advanced >= ADVANCE_BYTES) {
        source.stall.advance();
        advanced = partial.size;
      }
      onBytes(partial.size);
    }
  } catch (error) {
    throw last.failure ?? error;
  }
}

const chunksOf = (blob: Blob): AsyncIterable<Uint8Array> =>
  blob.stream() as unknown as AsyncIterable<Uint8Array>;

/** A `fetch` that remembers its last outcome. The stream of the library does not pass it on. */
function watched(original: typeof fetch): {
  readonly fetch: typeof fetch;
  /** Whether the last response was a whole file: a server may ignore the range of a request. */
  isWhole: boolean;
  failure: unknown;
} {
  const last = {
    isWhole: false,
    failure: undefined as unknown,
    fetch: async (...request: Parameters<typeof fetch>) => {
      try {
        const response = await original(...request);
        last.isWhole = response.status !== 206;
        return response;
      } catch (error) {
        last.failure = error;
        throw error;
      }
    },
  };
  return last;
}

const lostConnection = ({ model, settings }: Source, cause: unknown): InputError =>
  isUnreachable(cause)
    ? cause
    : unreachable(model, settings.endpoint, `a lost connection (${cause})`, { cause });
