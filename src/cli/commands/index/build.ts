/** `reatt index`: builds an index of a corpus. */

import { spoolPassages } from "../../../documents/passage-spool.ts";
import { formatBytes } from "../../../io/format-bytes.ts";
import { DOCUMENT_OPTIONS, splitChoices } from "../../../options/document-options.ts";
import { DIRECTORY, INDEX_OPTIONS, PART, WRITE_OPTIONS } from "../../../options/library-options.ts";
import { option } from "../../../options/option.ts";
import type { BuildForecast } from "../../../retrieval/index/write/forecast.ts";
import { checkReplaceable } from "../../../retrieval/index/write/transaction.ts";
import { contentsOf, recordBuild } from "../../../sync/record-build.ts";
import { readPassages } from "../../../text/read-passages.ts";
import { defineCommand } from "../../line/command.ts";
import { describeCut, startBuildProgress } from "../../output/build-progress.ts";
import { openCorpus } from "../../shared/corpus.ts";
import { CORPUS, MODEL, STORE } from "../../shared/file-options.ts";
import { loadModel } from "../../shared/load-model.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { parseShard } from "./shard.ts";
import { importToStore } from "./store.ts";

export const indexCommand = defineCommand({
  options: {
    model: MODEL,
    corpus: CORPUS,
    out: DIRECTORY.directory,
    store: STORE,
    ...INDEX_OPTIONS,
    ...DOCUMENT_OPTIONS,
    ...WRITE_OPTIONS,
    shard: option(INDEX_OPTIONS.shard, {
      help:
        "build only part I of N, from 1; auto: the number that a Slurm array gives the task or, " +
        "with N, an indexed Kubernetes job",
      placeholder: "I/N|auto|auto/N",
      parse: (given) => parseShard(given, process.env),
    }),
    part: option(PART.part, {
      help: "with --store: import only part I of N, from 1, beside others; auto as with --shard",
      placeholder: "I/N|auto|auto/N",
      parse: (given) => parseShard(given, process.env, "--part"),
    }),
  },
  library: { spoolPassages },
  example: "reatt index --corpus docs --out index",
  async run(given, signal, _, { spoolPassages }) {
    const { model: folder, corpus: source, out: directory, store, part, ...others } = given;
    const [choices, values] = splitChoices(others);
    const place = { model: folder, corpus: source, out: directory, part };
    if (store !== undefined)
      return importToStore({ ...values, ...place }, choices, signal, spoolPassages);
    if (part !== undefined) throw new UsageError("--part is for --store; a folder has --shard");
    if (values.bits !== undefined && values.bits !== 32 && values.shard !== undefined)
      throw new UsageError("--bits with --shard: the shards are compressed when they are merged");
    await checkReplaceable(directory, values.replace); // before anything that takes long
    await using model = await loadModel(folder, signal);
    const options = { directory, ...values, signal };
    const { tokenizer } = model;
    const { maxPassageTokens } = values;
    const contents = values.shard ? undefined : await contentsOf(source, directory, signal);
    const reading = { ...choices, maxPassageTokens, tokenizer, signal };
    await using corpus = await openCorpus(spoolPassages, source, reading);
    // Reads the whole corpus first: a bad line at its end must not end the command after hours.
    const forecast = await model.forecast(readPassages(corpus.file, signal), options);
    process.stderr.write(describe(forecast));
    const started = performance.now();
    const progress = startBuildProgress(forecast.passages);
    await using index = await model
      .index(readPassages(corpus.file, signal), { ...options, onProgress: progress.report })
      .finally(progress.stop);
    if (contents)
      await recordBuild(directory, contents, readPassages(corpus.file, signal), reading);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { passageCount, tokenCount } = index;
    process.stderr.write(
      `Indexed ${passageCount} passages, ${tokenCount} tokens, in ${seconds} s: ${directory}\n` +
        describeCut(progress.cut(), maxPassageTokens),
    );
  },
});

const describe = ({ passages, tokens, cut, bytes, peakBytes }: BuildForecast): string =>
  `${passages} passages, about ${tokens} tokens: an index of about ${formatBytes(bytes)}` +
  `${peakBytes > bytes ? `, ${formatBytes(peakBytes)} while it is built` : ""}\n` +
  (cut.passages === 0
    ? ""
    : `about ${cut.tokens} tokens of about ${cut.passages} long passages will be cut ` +
      "(--split-records splits them)\n");
