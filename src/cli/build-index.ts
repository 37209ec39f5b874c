/** `reatt index`: from a corpus to an index. */

import { formatBytes } from "../io/format-bytes.ts";
import { ReAtt } from "../reatt.ts";
import type { BuildForecast } from "../retrieval/index/write/forecast.ts";
import { readPassages } from "../text/read-passages.ts";
import { BITS_OPTION, parseBits, startBuildProgress } from "./index-build.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";
import { parseShard } from "./shard.ts";

export const indexCommand: Command = defineCommand({
  name: "index",
  summary: "Indexes a corpus. Interrupted, the same command goes on where it stopped.",
  options: {
    model: { kind: "text", placeholder: "DIR", help: "folder of the model", required: true },
    corpus: {
      kind: "text",
      placeholder: "FILE.jsonl[.gz]",
      help: 'passages, one a line: {"_id" or "id","title","text"}',
      required: true,
    },
    out: { kind: "text", placeholder: "DIR", help: "folder of the index", required: true },
    bits: BITS_OPTION,
    shard: {
      kind: "text",
      placeholder: "I/N|auto|auto/N",
      help: "only part I of N (from 1); auto: as a Slurm array or, with N, an indexed Kubernetes job numbers it",
    },
    "keep-tokens": {
      kind: "number",
      help: "share of each passage's tokens that are indexed, 0.25 to 1",
      default: 1,
    },
    "max-passage-tokens": {
      kind: "integer",
      help: "longer passages are cut",
      default: 512,
      minimum: 2,
    },
  },
  async run({ model: folder, corpus, out, bits, shard, ...values }, signal) {
    if (bits !== undefined && shard !== undefined)
      throw new UsageError("--bits with --shard: the shards are compressed when they are merged");
    await using model = await ReAtt.load(folder);
    const options = {
      directory: out,
      bits: parseBits(bits),
      shard: shard === undefined ? undefined : parseShard(shard, process.env),
      maxPassageTokens: values["max-passage-tokens"],
      keepRatio: values["keep-tokens"],
      signal,
    };
    // reads the whole corpus: a bad line at its end must not come to light after hours
    const forecast = await model.forecast(readPassages(corpus, signal), options);
    process.stderr.write(describe(forecast));
    const started = performance.now();
    const progress = startBuildProgress(forecast.passages);
    await using index = await model
      .index(readPassages(corpus, signal), { ...options, onProgress: progress.report })
      .finally(progress.stop);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { passageCount, tokenCount } = index;
    process.stderr.write(
      `Indexed ${passageCount} passages, ${tokenCount} tokens, in ${seconds} s: ${out}\n`,
    );
  },
});

const describe = ({ passages, tokens, bytes, peakBytes }: BuildForecast): string =>
  `${passages} passages, about ${tokens} tokens: an index of about ${formatBytes(bytes)}` +
  `${peakBytes > bytes ? `, ${formatBytes(peakBytes)} while it is built` : ""}\n`;
