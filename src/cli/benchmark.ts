/**
 * `reatt benchmark`: retrieval on a BEIR dataset, beside BM25 and with it.
 *
 * Source: https://github.com/beir-cellar/beir
 */

import { rm } from "node:fs/promises";
import { type BeirDataset, openBeir } from "../evaluation/beir.ts";
import type { Qrels } from "../evaluation/ranking.ts";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { LANGUAGE } from "../options/library-options.ts";
import { integer, option, type Resolved, text } from "../options/option.ts";
import { openLexicalIndex } from "../retrieval/bm25/lexical-index.ts";
import { formatBenchmark } from "./benchmark-report.ts";
import { measureSystems, searchAll, tuneOn } from "./benchmark-systems.ts";
import { configure, defineCommand } from "./command.ts";
import { emptyCommand } from "./empty-command.ts";
import { ENGINE_OPTIONS, openToSearch } from "./engine.ts";
import { OWN_PASSAGES } from "./evaluate.ts";
import { JSON_OBJECT, MODEL } from "./file-options.ts";
import { indexCommand } from "./index-build.ts";
import { loadModel } from "./load-model.ts";
import { parse } from "./parse.ts";
import { UsageError } from "./usage-error.ts";

const OPTIONS = {
  model: MODEL,
  index: option(text().optional(), {
    help: "an index of the corpus",
    placeholder: "DIR",
    defaultText: "build one and delete it at the end",
  }),
  indexOptions: option(text().optional(), {
    help: "options of reatt index for that build, such as bits=2,max-passage-tokens=256",
    placeholder: "NAME=VALUE,...",
  }),
  split: option(text().default("test"), {
    help: "the split to measure: qrels/NAME.tsv, or NAME.jsonl with the passage_id of questions",
    placeholder: "NAME",
  }),
  tune: option(text().optional(), {
    help: "measure hybrid search too, with lambda chosen on this split",
    placeholder: "NAME",
  }),
  topK: option(integer(1).default(100), { help: "passages for each query" }),
  json: JSON_OBJECT,
  ownPassages: OWN_PASSAGES,
  ...LANGUAGE,
  ...ENGINE_OPTIONS,
};

export const benchmarkCommand = defineCommand({
  options: OPTIONS,
  operands: { placeholder: "DIR", help: "folder of the dataset" },
  example: "reatt benchmark scifact --tune train",
  async run(values, signal, [folder, ...others]) {
    if (folder === undefined || others.length > 0)
      throw new UsageError("benchmark which dataset? reatt benchmark DIR");
    if (values.index !== undefined && values.indexOptions !== undefined)
      throw new UsageError("--index-options with --index: that index exists already");
    const { split, tune, topK, ownPassages, json } = values;
    const dataset = await openBeir(folder);
    const qrels = await dataset.qrels(split);
    const tuning = tune === undefined ? undefined : await dataset.qrels(tune);
    if (tuning) checkDisjoint(qrels, split, tuning, tune!);
    await using directory = await indexOf(values, dataset, signal);
    await using model = await loadModel(values.model, signal);
    await using index = await openToSearch(model, directory.path, values, signal);
    const { bm25 } = await openLexicalIndex(index, { language: values.language, signal });
    const stored = model.config.hybrid;
    const retrievers = { texts: dataset.queries, bm25, stored, model, index, topK, ownPassages };
    const searched = await searchAll(qrels, retrievers, signal);
    const development =
      tuning && (await searchAll(tuning, { ...retrievers, stored: undefined }, signal));
    const tuned = development && {
      split: tune!,
      queries: tuning.size,
      ...tuneOn(development, tuning, retrievers.bm25),
    };
    const counts = { split, queries: qrels.size, passages: index.passageCount, topK };
    const systems = measureSystems(searched, qrels, retrievers, tuned?.lambda);
    const summary = { ...counts, tuned, systems };
    process.stdout.write(`${json ? JSON.stringify(summary) : formatBenchmark(summary)}\n`);
  },
});

/** Lambda must not be chosen on queries that are then measured. */
function checkDisjoint(qrels: Qrels, split: string, tuning: Qrels, tune: string): void {
  const shared = [...tuning.keys()].find((query) => qrels.has(query));
  if (shared === undefined) return;
  throw new InputError({
    where: `--tune ${tune}`,
    expected: `queries that are not measured on ${split}`,
    got: tune === split ? "the same split" : `query "${shared}" of both`,
    remedy: "choose lambda on one split and measure on another",
  });
}

interface Folder extends AsyncDisposable {
  readonly path: string;
}

/** The folder of the given index, or of a temporary one. */
async function indexOf(
  { index, indexOptions = "", model }: Resolved<typeof OPTIONS>,
  dataset: BeirDataset,
  signal: AbortSignal,
): Promise<Folder> {
  if (index !== undefined) return { path: index, [Symbol.asyncDispose]: async () => {} };
  const path = await createTemporaryDirectory("benchmark");
  const remove = () => rm(path, { recursive: true, force: true });
  const command = emptyCommand("index");
  configure(command, indexCommand, signal);
  const options = indexOptions.split(",").filter((given) => given !== "");
  const files = ["--model", model, "--corpus", dataset.corpus, "--out", path];
  await parse(command, [...options.flatMap(flagAndValue), ...files]).catch(async (error) => {
    await remove();
    throw error;
  });
  return { path, [Symbol.asyncDispose]: remove };
}

/** `bits=2` -> `--bits`, `2` */
function flagAndValue(given: string): string[] {
  const [name = "", ...value] = given.split("=");
  return value.length === 0 ? [`--${name}`] : [`--${name}`, value.join("=")];
}
