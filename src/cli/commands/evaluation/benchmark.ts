/**
 * `reatt benchmark`: retrieval on a BEIR dataset, beside BM25 and with it.
 *
 * Source: https://github.com/beir-cellar/beir
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type BeirDataset, openBeir } from "../../../evaluation/beir.ts";
import type { Qrels } from "../../../evaluation/ranking.ts";
import { pairedDifference } from "../../../evaluation/significance.ts";
import { EMBEDDED_MODEL } from "../../../hub/model-name.ts";
import { modelTitle } from "../../../hub/model-title.ts";
import { createOutputDirectory, createTemporaryDirectory } from "../../../io/create-directory.ts";
import { InputError } from "../../../io/errors.ts";
import { flag, integer, option, own, path, type Resolved, text } from "../../../options/option.ts";
import { LANGUAGE } from "../../../options/search-request.ts";
import { openLexicalIndex } from "../../../retrieval/lexical-index.ts";
import { fittingQuestion, MAX_QUESTION_TOKENS } from "../../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../../text/tokens/tokenizer.ts";
import { configure, defineCommand } from "../../line/command.ts";
import { emptyCommand } from "../../line/empty-command.ts";
import { parse } from "../../line/parse.ts";
import { ENGINE_OPTIONS, openToSearch } from "../../shared/engine.ts";
import { JSON_OBJECT } from "../../shared/file-options.ts";
import { loadModel } from "../../shared/load-model.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { indexCommand } from "../index/build.ts";
import { type Comparison, csvOf, formatBenchmark, type Tuned } from "./benchmark-report.ts";
import { measureSystems, type RankedSystem, searchAll, tuneOn } from "./benchmark-systems.ts";
import { OWN_PASSAGES } from "./evaluate.ts";
import { trecRunLines, writeRunFile } from "./trec-run.ts";

const OPTIONS = {
  /** One model, or several to compare with the first one. */
  model: option(z.array(path(), "a model").default([EMBEDDED_MODEL]), {
    help: "folder or name of a model; several --model are compared with the first one",
    placeholder: "DIR|ORG/NAME[@REVISION]",
    defaultText: "the model of this package",
    repeated: true,
    parse: (given) => [given],
  }),
  index: option(text().optional(), {
    help: "an index of the corpus",
    placeholder: "DIR",
    defaultText: "build one and delete it at the end",
  }),
  indexOptions: option(text().optional(), {
    help: "options of reatt index for that build, such as bits=2,max-passage-tokens=256",
    placeholder: "NAME=VALUE,...",
    own: true,
  }),
  split: option(text().default("test"), {
    help: "the split to measure: qrels/NAME.tsv, or NAME.jsonl with the passage_id of questions",
    placeholder: "NAME",
    own: true,
  }),
  tune: option(text().optional(), {
    help: "measure hybrid search too, with lambda chosen on this split",
    placeholder: "NAME",
    own: true,
  }),
  topK: option(integer(1).default(100), { help: "passages for each query", own: true }),
  run: option(path().optional(), {
    help: "write the ranking of each system to this folder, in the format of TREC",
    placeholder: "DIR",
    own: true,
  }),
  csv: option(flag().default(false), {
    help: "print the table as comma-separated values",
    own: true,
  }),
  json: JSON_OBJECT,
  ownPassages: own(OWN_PASSAGES),
  ...LANGUAGE,
  ...ENGINE_OPTIONS,
};

const LIBRARY = { openLexicalIndex };

export const benchmarkCommand = defineCommand({
  options: OPTIONS,
  operands: { placeholder: "DIR", help: "folder of the dataset" },
  library: LIBRARY,
  example: "reatt benchmark scifact --model before --model after",
  async run(values, signal, [folder, ...others], library) {
    if (folder === undefined || others.length > 0)
      throw new UsageError("benchmark which dataset? reatt benchmark DIR");
    if (values.index !== undefined && values.indexOptions !== undefined)
      throw new UsageError("--index-options with --index: that index exists already");
    if (values.index !== undefined && values.model.length > 1)
      throw new UsageError("--index with several models: each has an index of its own");
    const { split, tune, topK, json, csv } = values;
    const dataset = await openBeir(folder);
    const qrels = await dataset.qrels(split);
    const tuning = tune === undefined ? undefined : await dataset.qrels(tune);
    if (tuning) checkDisjoint(qrels, split, tuning, tune!);
    const measured: MeasuredModel[] = [];
    const data = { dataset, qrels, tuning };
    for (const model of values.model)
      measured.push(await measureModel({ ...values, model }, data, signal, library));
    const titles = measured.map(({ title }) => title);
    if (new Set(titles).size < titles.length)
      // folders of the same name: their paths differ
      for (const [i, one] of measured.entries()) measured[i] = { ...one, title: values.model[i]! };
    const [first, ...rest] = measured as [MeasuredModel, ...MeasuredModel[]];
    const systems = [
      ...(rest.length === 0 ? first.systems : named(first)),
      ...rest.flatMap((one) => named(one).slice(1)), // without BM25
    ];
    if (values.run !== undefined) await writeRuns(values.run, systems);
    const { passages, tuned } = first;
    const summary = {
      split,
      queries: qrels.size,
      passages,
      topK,
      tuned,
      systems: systems.map(({ values: _, run: __, ...system }) => system),
      ...(rest.length > 0 && { comparisons: rest.flatMap((other) => compared(first, other)) }),
    };
    const text = json
      ? JSON.stringify(summary)
      : csv
        ? csvOf(summary.systems)
        : formatBenchmark(summary);
    process.stdout.write(`${text}\n`);
  },
});

/** A model's systems, BM25 first. */
interface MeasuredModel {
  readonly title: string;
  readonly passages: number;
  readonly systems: readonly RankedSystem[];
  readonly tuned: Tuned | undefined;
}

interface Data {
  readonly dataset: BeirDataset;
  readonly qrels: Qrels;
  readonly tuning: Qrels | undefined;
}

async function measureModel(
  values: ModelValues,
  { dataset, qrels, tuning }: Data,
  signal: AbortSignal,
  { openLexicalIndex }: typeof LIBRARY,
): Promise<MeasuredModel> {
  const { topK, ownPassages, tune } = values;
  await using directory = await indexOf(values, dataset, signal);
  await using model = await loadModel(values.model, signal);
  await using index = await openToSearch(model, [{ directory: directory.path }], values, signal);
  const { bm25 } = await openLexicalIndex(index, { language: values.language, signal });
  const stored = model.config.hybrid;
  const asked = new Set([...qrels.keys(), ...(tuning?.keys() ?? [])]);
  const queries = [...dataset.queries].filter(([id]) => asked.has(id));
  const texts = fittingQueries(queries, model.tokenizer);
  const retrievers = { texts, bm25, stored, model, index, topK, ownPassages };
  const searched = await searchAll(qrels, retrievers, signal);
  const development =
    tuning && (await searchAll(tuning, { ...retrievers, stored: undefined }, signal));
  const tuned = development && {
    split: tune!,
    queries: tuning.size,
    ...tuneOn(development, tuning, bm25),
  };
  return {
    title: modelTitle(values.model),
    passages: index.passageCount,
    systems: measureSystems(searched, qrels, retrievers, tuned?.lambda),
    tuned,
  };
}

/** Cuts queries that the model cannot read whole, and names them. */
function fittingQueries(
  queries: readonly (readonly [id: string, text: string])[],
  tokenizer: Tokenizer,
): ReadonlyMap<string, string> {
  const fitting = new Map(queries.map(([id, text]) => [id, fittingQuestion(tokenizer, text)]));
  const cut = queries.filter(([id, text]) => fitting.get(id) !== text).map(([id]) => id);
  if (cut.length > 0)
    process.stderr.write(
      `warning: ${cut.length} of ${queries.length} queries are longer than ${MAX_QUESTION_TOKENS} ` +
        `tokens and are cut: ${cut.slice(0, MAX_NAMED).join(", ")}${cut.length > MAX_NAMED ? ", …" : ""}\n`,
    );
  return fitting;
}

/** Queries that a warning names. */
const MAX_NAMED = 10;

/** The systems of one of several models, by its name. */
const named = ({ title, systems }: MeasuredModel): RankedSystem[] =>
  systems.map((system) => {
    const { name } = system;
    if (name === "BM25") return system;
    return { ...system, name: name === "ReAtt" ? title : `${title}, ${name}` };
  });

/** The systems of a model, beside those of the same kind of the first model. */
function compared(first: MeasuredModel, other: MeasuredModel): Comparison[] {
  const kinds = ["ReAtt", "hybrid"];
  const of = ({ systems }: MeasuredModel, kind: string): RankedSystem | undefined =>
    systems.find(({ name }) => name === kind);
  return kinds.flatMap((kind) => {
    const [a, b] = [of(first, kind), of(other, kind)];
    if (!a || !b) return [];
    const suffix = kind === "ReAtt" ? "" : `, ${kind}`;
    return {
      name: `${other.title}${suffix}`,
      against: `${first.title}${suffix}`,
      ...pairedDifference(a.values, b.values),
    };
  });
}

/** Writes `NAME.trec` for each system. */
async function writeRuns(folder: string, systems: readonly RankedSystem[]): Promise<void> {
  await createOutputDirectory(folder);
  for (const { name, run } of systems) {
    const file = join(folder, `${name.replace(/[^\p{L}\p{N}.]+/gu, "-")}.trec`);
    await writeRunFile(file, async (handle) => {
      for (const [query, hits] of run) await handle.appendFile(trecRunLines(query, hits));
    });
  }
}

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

/** The options for one of the models. */
interface ModelValues extends Omit<Resolved<typeof OPTIONS>, "model"> {
  readonly model: string;
}

interface Folder extends AsyncDisposable {
  readonly path: string;
}

/** The folder of the given index, or of a temporary one. */
async function indexOf(
  { index, indexOptions = "", model }: ModelValues,
  dataset: BeirDataset,
  signal: AbortSignal,
): Promise<Folder> {
  if (index !== undefined) return { path: index, [Symbol.asyncDispose]: async () => {} };
  const path = await createTemporaryDirectory("benchmark");
  const remove = () => rm(path, { recursive: true, force: true });
  const command = emptyCommand("index");
  configure(command, indexCommand, signal, () => {}); // what is left out is on stderr
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
