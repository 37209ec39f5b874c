/** `reatt index --store`: imports a corpus, or a part of it, into a collection of a store. */

import type { spoolPassages } from "../../../documents/passage-spool.ts";
import type { DOCUMENT_OPTIONS } from "../../../options/document-options.ts";
import type { INDEX_OPTIONS, WRITE_OPTIONS } from "../../../options/library-options.ts";
import type { Resolved } from "../../../options/option.ts";
import { readPassages } from "../../../text/read-passages.ts";
import { describeCut, startBuildProgress } from "../../output/build-progress.ts";
import { openCorpus } from "../../shared/corpus.ts";
import { loadModel } from "../../shared/load-model.ts";
import { UsageError } from "../../shared/usage-error.ts";

type Values = Resolved<typeof INDEX_OPTIONS & typeof WRITE_OPTIONS> & {
  readonly model: string;
  readonly corpus: string;
  /** The address. */
  readonly out: string;
  readonly part?: Resolved<typeof INDEX_OPTIONS>["shard"];
};

/**
 * @param choices how documents are read
 * @param open that of the library
 */
export async function importToStore(
  { model: folder, corpus: source, out: directory, part, ...others }: Values,
  choices: Partial<Resolved<typeof DOCUMENT_OPTIONS>>,
  signal: AbortSignal,
  open: typeof spoolPassages,
): Promise<void> {
  const { replace, shard, maxPassageTokens } = others;
  if (shard !== undefined) throw new UsageError("--shard is for a folder; --store has --part");
  if (part !== undefined && replace) throw new UsageError("--replace with --part: parts share it");
  await using model = await loadModel(folder, signal);
  const { tokenizer } = model;
  await using corpus = await openCorpus(open, source, {
    ...choices,
    maxPassageTokens,
    tokenizer,
    signal,
  });
  let total = 0;
  // Reads the whole corpus first: a bad line at its end must not end the command after hours.
  for await (const _ of readPassages(corpus.file, signal)) total++;
  const started = performance.now();
  const progress = startBuildProgress(part ? Math.ceil(total / part.count) : total);
  await using index = await model
    .index(readPassages(corpus.file, signal), {
      ...others,
      directory,
      shard: part,
      signal,
      onProgress: progress.report,
    })
    .finally(progress.stop);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stderr.write(
    `Imported in ${seconds} s, there are ${index.passageCount} passages, ${index.tokenCount} tokens: ` +
      `${index.directory}\n${describeCut(progress.cut(), maxPassageTokens)}`,
  );
}
