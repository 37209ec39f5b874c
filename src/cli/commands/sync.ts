/** `reatt sync`: keeps an index in step with a folder of documents. */

import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { InputError } from "../../io/errors.ts";
import { DELETE_OPTIONS, SYNC_OPTIONS } from "../../options/document-options.ts";
import { WRITE_OPTIONS } from "../../options/library-options.ts";
import { flag, option, optionally, path } from "../../options/option.ts";
import type { ReAtt, SyncOptions } from "../../reatt.ts";
import type { SyncProgress, SyncResult } from "../../sync/sync.ts";
import { named } from "../collections/collection-values.ts";
import { findConfig, printable } from "../collections/collections.ts";
import { checkAccepted } from "../collections/trust.ts";
import { defineCommand } from "../line/command.ts";
import { startBuildProgress } from "../output/build-progress.ts";
import { type Progress, startProgress } from "../output/progress.ts";
import { describeSkipped, endOf, skippedAsJson } from "../shared/corpus.ts";
import type { CommandEnd } from "../shared/exit.ts";
import { JSON_LINES, MODEL, STORE } from "../shared/file-options.ts";
import { loadModel } from "../shared/load-model.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Changes that follow each other so quickly are handled together. */
const QUIET_MS = 500;

export const syncCommand = defineCommand({
  options: {
    model: optionally(MODEL, "that of the collection, or the model of this package"),
    index: option(path().optional(), {
      help: "folder of the index",
      placeholder: "DIR",
      defaultText: "that of the collection",
    }),
    store: STORE,
    watch: option(flag().default(false), {
      help: "wait for changes, until it is interrupted",
      own: true,
    }),
    ...DELETE_OPTIONS,
    ...SYNC_OPTIONS,
    ...WRITE_OPTIONS,
    json: JSON_LINES,
  },
  operands: {
    placeholder: "FOLDER|NAME",
    help: "folder of documents, or a collection of reatt.config.json; without it, all collections",
  },
  example: "reatt sync docs --index index --watch",
  async run({ model, index, store: _, watch, json, ...splitting }, signal, operands) {
    let end: CommandEnd;
    if (operands.length > 1) throw new UsageError("one folder is needed");
    const sources = await sourcesOf(operands[0], index, signal);
    const show = json ? jsonLine : describe;
    if (watch && sources.length > 1)
      throw new UsageError("--watch needs the name of one collection");
    for (const { name, folder, directory, patterns, model: own } of sources) {
      await using loaded = await loadModel(model ?? own ?? EMBEDDED_MODEL, signal);
      if (name !== undefined && sources.length > 1) process.stderr.write(`${name}:\n`);
      const options = { directory, ...splitting, ...patterns, signal };
      end = (await followFolder(loaded, folder, options, watch, show)) ?? end;
    }
    return end;
  },
});

interface Source {
  /** Of the collection. */
  readonly name?: string;
  readonly folder: string;
  readonly directory: string;
  readonly model?: string | undefined;
  readonly patterns: Pick<SyncOptions, "include" | "ignore">;
}

/** The folder or the collection of this name, or all collections. */
async function sourcesOf(
  operand: string | undefined,
  index: string | undefined,
  signal: AbortSignal,
): Promise<Source[]> {
  if (operand !== undefined && index !== undefined)
    return [{ folder: operand, directory: index, patterns: {} }];
  const config = await findConfig();
  if (!config)
    throw new UsageError(`${operand === undefined ? "FOLDER" : "--index DIR"} is missing`);
  if (index !== undefined) throw new UsageError("--index DIR with a collection, which has its own");
  const one = operand === undefined ? undefined : named(config, operand);
  if (operand !== undefined && !one)
    throw new UsageError(`${operand}: no collection, and no --index DIR`);
  await checkAccepted(config, signal);
  return (one ? [one] : config.collections).map(
    ({ name, path: folder, index: directory, model, include, ignore }) => ({
      name,
      folder,
      directory,
      model,
      // Otherwise those of the last synchronisation would count.
      patterns: { include: include ?? ["*"], ignore: ignore ?? [] },
    }),
  );
}

async function followFolder(
  model: ReAtt,
  folder: string,
  options: SyncOptions & { readonly signal: AbortSignal },
  watch: boolean,
  show: (result: SyncResult) => string,
): Promise<CommandEnd> {
  const { directory, signal } = options;
  let lastSkipped = "";
  let end: CommandEnd;
  const synchronise = async ({ isRepeated = false } = {}): Promise<void> => {
    const progress = startSyncProgress();
    const result = await model
      .sync(folder, { ...options, onProgress: progress.report })
      .finally(progress.stop);
    const skipped = describeSkipped(result.skipped);
    if (skipped !== lastSkipped) process.stderr.write(skipped);
    lastSkipped = skipped;
    end = endOf(result.skipped);
    if (isRepeated && result.changes.length === 0) return; // a file without passages changed
    process.stdout.write(show(result));
  };
  await using changes = watch ? await watchFolder(folder, directory) : undefined;
  await synchronise();
  while (changes && !signal.aborted) {
    await changes.next(signal);
    if (!signal.aborted) await synchronise({ isRepeated: true }).catch(reportAndContinue);
  }
  return end;
}

/** Shows how many files are read and then how many passages are indexed. */
function startSyncProgress(): {
  readonly report: (progress: SyncProgress) => void;
  readonly stop: () => void;
} {
  let reading: Progress | undefined;
  let building: ReturnType<typeof startBuildProgress> | undefined;
  let lastRead = performance.now();
  return {
    report(progress) {
      if (progress.event === "reading") {
        reading ??= startProgress("files", progress.total);
        reading.update(progress.files);
        lastRead = performance.now();
        return;
      }
      reading?.stop();
      building ??= startBuildProgress(progress.total, lastRead);
      building.report(progress);
    },
    stop() {
      reading?.stop();
      building?.stop();
    },
  };
}

interface Changes extends AsyncDisposable {
  /** Waits for a change, and until there is no other for half a second. */
  next(signal: AbortSignal): Promise<void>;
}

/** Notices changes from now on, but not those of the index, which may be in the folder. */
async function watchFolder(folder: string, index: string): Promise<Changes> {
  const { watch } = await import("chokidar");
  const leftOut = resolve(index);
  const ignored = (path: string): boolean => resolve(path) === leftOut;
  const watcher = watch(folder, { ignoreInitial: true, followSymlinks: false, ignored });
  let [count, handled] = [0, 0];
  watcher.on("all", () => count++);
  watcher.on("error", reportAndContinue);
  await new Promise<void>((start) => watcher.once("ready", start));
  const pause = (signal: AbortSignal) => sleep(QUIET_MS, undefined, { signal }).catch(() => {});
  return {
    async next(signal) {
      while (count === handled && !signal.aborted) await pause(signal);
      while (count > handled && !signal.aborted) {
        handled = count;
        await pause(signal);
      }
    },
    [Symbol.asyncDispose]: () => watcher.close(),
  };
}

/** A file may be half written: the next change tries again. */
function reportAndContinue(error: unknown): void {
  if (!(error instanceof InputError)) throw error;
  process.stderr.write(`reatt: ${error.message}\n`);
}

function describe({ changes, unchanged }: SyncResult): string {
  const lines = changes.map(({ change, file, passages }) =>
    printable(`${change} ${file}, passages: ${passages}`),
  );
  const count = (kind: string) => changes.filter(({ change }) => change === kind).length;
  const counts = ["added", "replaced", "deleted"].map((kind) => `${count(kind)} ${kind}`);
  return `${[...lines, `${counts.join(", ")}, ${unchanged} unchanged`].join("\n")}\n`;
}

const jsonLine = ({ changes, unchanged, skipped }: SyncResult): string => {
  return `${JSON.stringify({ changes, unchanged, skipped: skippedAsJson(skipped) })}\n`;
};
