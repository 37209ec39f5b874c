/**
 * `README.md` of an adapted model: a model card in the format of the Hugging Face hub.
 *
 * Source: https://huggingface.co/docs/hub/model-cards
 */

import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { version } from "../../io/version.ts";
import type { HybridWeights } from "../../model/config.ts";
import { cardEntries } from "../../options/records.ts";
import type { Corpus } from "../examples/corpus.ts";
import { ADAPT_OPTIONS, type AdaptRequest } from "../options/adapt-options.ts";
import type { TrainingResult } from "../run/events.ts";
import { machine } from "../run/run-log.ts";
import { verdictOf } from "../run/verdict.ts";
import type { AdaptationPlan } from "./plan.ts";
import { FILES } from "./record.ts";

export interface CardContent {
  readonly plan: AdaptationPlan;
  readonly training: TrainingResult;
  readonly corpus: Pick<Corpus, "digest">;
  /** SHA-256 of the training examples. */
  readonly data: string;
  /** What everything before the index took. */
  readonly seconds: number;
}

/**
 * Writes the card and replaces an existing one.
 *
 * @throws {InputError} if the disk refuses
 */
export async function writeModelCard(options: AdaptRequest, content: CardContent): Promise<void> {
  const { plan, training, corpus, data, seconds } = content;
  const text = `---
library_name: reatt
pipeline_tag: question-answering
base_model: ${modelTitle(options.model).replace(/@.*/u, "")}
${await inheritedFields(options.model)}---

# ${basename(resolve(options.out))}

A ReAtt model adapted to a corpus.${plan.keepsIndex ? KEPT : ""}

${table(
  ["", ""],
  [
    ["base", modelTitle(options.model)],
    ["corpus", `${basename(options.corpus)}, ${plan.passages} passages, SHA-256 ${corpus.digest}`],
    [
      "trained on",
      plan.sources.map(({ name, examples }) => `${name} (up to ${examples} examples)`).join(", "),
    ],
    ["training data", `SHA-256 ${data}`],
    ["verdict", verdictOf(training)],
    ["ended", ending(training)],
    ["made", `${new Date().toISOString().slice(0, 10)} by reatt ${version()}`],
    ["took", `${Math.ceil(seconds / 60)} min before the index, on ${machine()}`],
  ],
)}

## Figures

${figures(training)}

## Options

${table(["option", "value"], cardEntries(ADAPT_OPTIONS, { ...options }).map(withoutFolder))}
`;
  await replaceFile(join(options.out, "README.md"), (handle) => handle.writeFile(text));
}

/** What a model has of the one that it was made of, in a card of the hub. */
const INHERITED = ["license", "license_name", "license_link", "language"];

/** Those lines of the front matter of the given model's card, lists included. */
async function inheritedFields(model: string): Promise<string> {
  const card = await readFile(join(model, "README.md"), "utf8").catch(() => "");
  const [, matter = ""] = /^---\r?\n(.*?\n)---/su.exec(card) ?? [];
  const fields = matter.match(/^\w+:.*\n(?:[ \t-].*\n)*/gmu) ?? [];
  return fields.filter((field) => INHERITED.includes(field.slice(0, field.indexOf(":")))).join("");
}

/** A card is published: it names files, not the folders of a machine. */
const withoutFolder = ([name, value]: [string, string]): [string, string] =>
  FILES.has(name) ? [name, basename(value)] : [name, value];

const KEPT = " An index made with the base model is valid for it.";

const ending = ({ step, failure, monitor }: TrainingResult): string =>
  `after step ${step}${failure ? `: ${failure}` : ""}; ` +
  `this is the model of step ${monitor?.step ?? (failure ? 0 : step)}`;

function figures({ monitor }: TrainingResult): string {
  if (!monitor) return "There were too few examples to hold some out for measurements.";
  const { before, after, bm25, hybrid } = monitor;
  const percent = (measures: Measures, name: string): string => (100 * measures[name]!).toFixed(1);
  const columns: [head: string, measures: Measures][] = [
    ["BM25", bm25],
    ["before", before],
    ["after", after],
    ...(hybrid
      ? ([
          ["hybrid before", hybrid.before],
          ["hybrid after", hybrid.after],
        ] satisfies [string, Measures][])
      : []),
  ];
  const choice = monitor.choseToo
    ? `examples. They also chose the step, by the mean reciprocal rank (mrr), and lambda, so "after" is slightly too high.`
    : "examples that chose nothing. As many others chose the step, by the mean reciprocal rank (mrr), and lambda.";
  return `Retrieval of the relevant passage from a sample of the corpus, for ${monitor.questions} held-out
${choice}
${hybrid ? hybridText(hybrid.weights, monitor.step > 0) : ""}
${table(
  ["measure, %", ...columns.map(([head]) => head)],
  Object.keys(before).map((name) => [
    name,
    ...columns.map(([, measures]) => percent(measures, name)),
  ]),
)}`;
}

const hybridText = ({ lambda, k1, b }: HybridWeights, isStored: boolean): string =>
  `"hybrid" is BM25 (k1 ${k1}, b ${b}) / terms of the question + lambda x the model, with a lambda for each model.${isStored ? ` \`config.json\` stores lambda ${lambda}, which \`reatt answer\` uses.` : ""}
`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
