/** The passages of an adaptation: the corpus itself, or those that its documents are split into. */

import { access } from "node:fs/promises";
import { join } from "node:path";
import {
  isPassageFile,
  type PassageSpool,
  spoolPassages,
  writePassages,
} from "../../documents/passage-spool.ts";
import {
  type ReadDocumentsOptions,
  readDocuments,
  type SkippedFile,
} from "../../documents/read-documents.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { readConfig } from "../../model/config-file.ts";
import { splitChoices } from "../../options/document-options.ts";
import { loadTokenizer, tokenizerFile } from "../../text/tokens/tokenizer.ts";
import type { StartOptions } from "../options/adapt-options.ts";
import { runFolder } from "../run/run-folder.ts";

/** The passages in the folder of the run. */
const FILE = "passages.jsonl";

/** What reading the documents reports. */
export type DocumentsEvent =
  | ProgressEvent
  /** Files that are not read. */
  | { readonly type: "skipped"; readonly files: readonly SkippedFile[] };

/**
 * The file of passages of `corpus`. Documents are split and written to the folder of the run, where
 * a resumed run finds the same passages; a dry run writes to a temporary folder.
 */
export async function* passagesOf(
  options: StartOptions,
): AsyncGenerator<DocumentsEvent, PassageSpool> {
  const { model, corpus, out, resume, dryRun, splitRecords } = options;
  const folder = runFolder(out);
  const file = join(folder, FILE);
  const unchanged = async () => {};
  const isWritten = await access(file).then(
    () => resume,
    () => false,
  );
  if (isWritten) return { file, isConverted: true, [Symbol.asyncDispose]: unchanged };
  if (!splitRecords && (await isPassageFile(corpus)))
    return { file: corpus, isConverted: false, [Symbol.asyncDispose]: unchanged };
  const tokenizer = await loadTokenizer(tokenizerFile(model), await readConfig(model));
  return yield* reading(async (reporters) => {
    const { maxPassageTokens, signal } = options;
    const [choices] = splitChoices(options);
    const given = { ...choices, maxPassageTokens, tokenizer, signal, ...reporters };
    if (dryRun) return spoolPassages(corpus, given);
    await createOutputDirectory(folder);
    await writePassages(file, readDocuments(corpus, given));
    return { file, isConverted: true, [Symbol.asyncDispose]: unchanged };
  });
}

/** Reports how many files `work` has read, and those that it skips. */
async function* reading<Result>(
  work: (reporters: Pick<ReadDocumentsOptions, "onProgress" | "onSkip">) => Promise<Result>,
): AsyncGenerator<DocumentsEvent, Result> {
  const files: SkippedFile[] = [];
  const result = yield* reporting<DocumentsEvent, Result>((report) => {
    let isBegun = false;
    const onProgress = ({ done, total }: { done: number; total: number }): void => {
      if (!isBegun) report({ type: "stage", name: "reading documents", total });
      isBegun = true;
      report({ type: "progress", done });
    };
    return work({ onProgress, onSkip: (file) => files.push(file) });
  });
  if (files.length > 0) yield { type: "skipped", files };
  return result;
}
