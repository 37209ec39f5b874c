/** `reatt sync`: keeps an index in step with a folder of documents. */

import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InputError } from "../io/errors.ts";
import { SYNC_OPTIONS } from "../options/document-options.ts";
import { WRITE_OPTIONS } from "../options/library-options.ts";
import { flag, option } from "../options/option.ts";
import type { SyncProgress, SyncResult } from "../sync/sync.ts";
import { startBuildProgress } from "./build-progress.ts";
import { defineCommand } from "./command.ts";
import { describeSkipped } from "./corpus.ts";
import { INDEX, JSON_LINES, MODEL } from "./file-options.ts";
import { loadModel } from "./load-model.ts";
import { type Progress, startProgress } from "./progress.ts";
import { UsageError } from "./usage-error.ts";

/** Changes that follow each other so quickly are handled together. */
const QUIET_MS = 500;

export const syncCommand = defineCommand({
  options: {
    model: MODEL,
    index: INDEX,
    watch: option(flag().default(false), { help: "wait for changes, until it is interrupted" }),
    ...SYNC_OPTIONS,
    ...WRITE_OPTIONS,
    json: JSON_LINES,
  },
  operands: { placeholder: "FOLDER", help: "folder of documents" },
  example: "reatt sync docs --index index --watch",
  async run({ model: name, index: directory, watch, json, ...splitting }, signal, operands) {
    const [folder, ...others] = operands;
    if (folder === undefined || others.length > 0) throw new UsageError("one folder is needed");
    await using model = await loadModel(name, signal);
    let lastSkipped = "";
    const synchronise = async ({ isRepeated = false } = {}): Promise<void> => {
      const progress = startSyncProgress();
      const result = await model
        .sync(folder, { directory, ...splitting, onProgress: progress.report, signal })
        .finally(progress.stop);
      const skipped = describeSkipped(result.skipped);
      if (skipped !== lastSkipped) process.stderr.write(skipped);
      lastSkipped = skipped;
      if (isRepeated && result.changes.length === 0) return; // a file without passages changed
      process.stdout.write(json ? jsonLine(result) : describe(result));
    };
    await using changes = watch ? await watchFolder(folder, directory) : undefined;
    await synchronise();
    while (changes && !signal.aborted) {
      await changes.next(signal);
      if (!signal.aborted) await synchronise({ isRepeated: true }).catch(reportAndContinue);
    }
  },
});

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
  const lines = changes.map(
    ({ change, file, passages }) => `${change} ${file}, passages: ${passages}`,
  );
  const count = (kind: string) => changes.filter(({ change }) => change === kind).length;
  const counts = ["added", "replaced", "deleted"].map((kind) => `${count(kind)} ${kind}`);
  return `${[...lines, `${counts.join(", ")}, ${unchanged} unchanged`].join("\n")}\n`;
}

const jsonLine = ({ changes, unchanged, skipped }: SyncResult): string => {
  const named = skipped.map(({ file, problem }) => ({ file, problem: problem.message }));
  return `${JSON.stringify({ changes, unchanged, skipped: named })}\n`;
};
