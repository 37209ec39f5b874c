/** `reatt index`: builds an index of a corpus. */

import { spoolPassages } from "../../../documents/passage-spool.ts";
import { formatBytes } from "../../../io/format-bytes.ts";
import { DOCUMENT_OPTIONS, splitChoices } from "../../../options/document-options.ts";
import { DIRECTORY, INDEX_OPTIONS, PART, WRITE_OPTIONS } from "../../../options/library-options.ts";
import { option, type Resolved } from "../../../options/option.ts";
import type { ShardRecord } from "../../../retrieval/index/format/manifest.ts";
import type { BuildForecast } from "../../../retrieval/index/write/forecast.ts";
import type { Place } from "../../../retrieval/places/place.ts";
import { placeOf } from "../../../retrieval/places/place-of.ts";
import { contentsOf, recordBuild } from "../../../sync/record-build.ts";
import type { Passage } from "../../../text/passage.ts";
import { readPassages } from "../../../text/read-passages.ts";
import { defineCommand } from "../../line/command.ts";
import { describeCut, startBuildProgress } from "../../output/build-progress.ts";
import { duration } from "../../output/progress.ts";
import { endOf, openCorpus, STRICT, skippedAsJson } from "../../shared/corpus.ts";
import { CORPUS, JSON_OBJECT, MODEL, STORE } from "../../shared/file-options.ts";
import { loadModel } from "../../shared/load-model.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { parseShard } from "./shard.ts";

export const indexCommand = defineCommand({
  options: {
    model: MODEL,
    corpus: CORPUS,
    out: DIRECTORY.directory,
    store: STORE,
    ...INDEX_OPTIONS,
    ...DOCUMENT_OPTIONS,
    strict: STRICT,
    ...WRITE_OPTIONS,
    json: JSON_OBJECT,
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
    const {
      model: folder,
      corpus: source,
      out: directory,
      store: __,
      part,
      strict,
      json,
      ...others
    } = given;
    const [choices, values] = splitChoices(others);
    await using place = placeOf(directory, { signal, isPatient: true });
    const shard = shardOf(place, { ...values, part });
    const options = { directory, ...values, shard, signal };
    await place.checkReplaceable(options); // before anything that takes long
    await using model = await loadModel(folder, signal);
    const { tokenizer } = model;
    const { maxPassageTokens } = values;
    const isFollowed = place.folder && !shard;
    const contents = isFollowed && (await contentsOf(source, directory, signal));
    const reading = { ...choices, maxPassageTokens, tokenizer, signal };
    await using corpus = await openCorpus(spoolPassages, source, { ...reading, strict });
    const passages = () => readPassages(corpus.file, signal);
    // Reads the whole corpus first: a bad line at its end must not end the command after hours.
    const forecast = place.folder && (await model.forecast(passages(), options));
    if (forecast) process.stderr.write(describe(forecast));
    const expected = forecast?.passages ?? (await countOf(passages())) / (shard?.count ?? 1);
    const started = performance.now();
    const progress = startBuildProgress(Math.ceil(expected));
    await using index = await model
      .index(passages(), { ...options, onProgress: progress.report })
      .finally(progress.stop);
    if (contents) await recordBuild(place, contents, passages(), corpus.skipped, reading);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const counts = `${index.passageCount} passages, ${index.tokenCount} tokens`;
    const done = place.folder
      ? `Indexed ${counts}, in ${seconds} s`
      : `Imported in ${seconds} s, there are ${counts}`;
    process.stderr.write(
      `${done}: ${index.directory}\n${describeCut(progress.cut(), maxPassageTokens)}`,
    );
    if (json) {
      const { directory: address, passageCount: passages, tokenCount: tokens } = index;
      const skipped = skippedAsJson(corpus.skipped);
      process.stdout.write(`${JSON.stringify({ index: address, passages, tokens, skipped })}\n`);
    }
    return endOf(corpus.skipped);
  },
});

/** The part of the corpus that is indexed. @throws {UsageError} for options that exclude others */
function shardOf(
  { folder }: Place,
  {
    shard,
    part,
    bits = 32,
    replace,
  }: Resolved<typeof INDEX_OPTIONS> & { readonly part?: ShardRecord | undefined },
): ShardRecord | undefined {
  if (folder && part) throw new UsageError("--part is for --store; a folder has --shard");
  if (!folder && shard) throw new UsageError("--shard is for a folder; --store has --part");
  if (part && replace) throw new UsageError("--replace with --part: parts share it");
  if (shard && bits !== 32)
    throw new UsageError("--bits with --shard: the shards are compressed when they are merged");
  return shard ?? part;
}

async function countOf(passages: AsyncIterable<Passage>): Promise<number> {
  let count = 0;
  for await (const _ of passages) count++;
  return count;
}

const describe = ({ passages, tokens, cut, bytes, peakBytes, ...build }: BuildForecast): string =>
  `${passages} passages, about ${tokens} tokens: an index of about ${formatBytes(bytes)}` +
  `${peakBytes > bytes ? `, ${formatBytes(peakBytes)} while it is built` : ""}, ` +
  `with ${formatBytes(build.memoryBytes)} of memory in ${duration(build.seconds)}\n` +
  (cut.passages === 0
    ? ""
    : `about ${cut.tokens} tokens of about ${cut.passages} passages will be cut\n`);
