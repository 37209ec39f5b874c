/**
 * `README.md` of a trained model: a model card in the format of the Hugging Face hub.
 *
 * Source: https://huggingface.co/docs/hub/model-cards
 */

import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { formatBytes } from "../../io/format-bytes.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { version } from "../../io/version.ts";
import type { HybridWeights } from "../../model/config.ts";
import { FILE_OPTIONS } from "../options/run-options.ts";
import type { TrainingResult } from "./events.ts";
import type { Run } from "./run.ts";
import { machine } from "./run-log.ts";

type Row = readonly string[];

export interface ModelCard {
  /** Whether the given model had weights, so that this one is based on it. */
  readonly isBased: boolean;
  /** What the model is, in a sentence or two. */
  readonly description: string;
  /** File or folder of the passages, how many they are, and their SHA-256. */
  readonly corpus: { readonly file: string; readonly passages: number; readonly digest: string };
  /** The examples, by their sources and numbers. */
  readonly trainedOn: string;
  /** SHA-256 of the training examples. */
  readonly data: string;
  readonly training: TrainingResult;
  /** What the run brought, in a line. */
  readonly verdict: string;
  /** What the run took. */
  readonly seconds: number;
  /** What `seconds` leaves out, as " before the index". Default: nothing. */
  readonly timed?: string | undefined;
  /** The options of the run, in rows of a name and a value. */
  readonly options: readonly (readonly [name: string, value: string])[];
}

/**
 * Writes the card of a run's model, and replaces an existing one.
 *
 * @throws {InputError} if the disk refuses
 */
export async function writeModelCard(
  { out, model, average }: Pick<Run, "out" | "model" | "average">,
  card: ModelCard,
): Promise<void> {
  const { isBased, corpus, trainedOn, data, training } = card;
  const title = modelTitle(model);
  const name = basename(resolve(out));
  const isUnchanged = training.outcome?.kept === "start";
  const description = isUnchanged
    ? `The weights of ${title}, unchanged: the run kept none of what it trained.`
    : card.description;
  const isMean = training.outcome ? training.outcome.kept === "mean" : average && !training.failure;
  const text = `---
library_name: reatt
pipeline_tag: question-answering
${isBased ? `base_model: ${title.replace(/@.*/u, "")}\n` : ""}${await inheritedFields(model)}---

# ${name}

${description}

${table(
  ["", ""],
  [
    ["base", isBased ? title : `${title}, its shape alone: training began with random weights`],
    ["corpus", `${basename(corpus.file)}, ${corpus.passages} passages, SHA-256 ${corpus.digest}`],
    ["trained on", trainedOn],
    ["training data", `SHA-256 ${data}`],
    ["verdict", card.verdict],
    ["ended", ending(training)],
    ...(isMean ? [["weights", "the mean of those of the base model and those of this step"]] : []),
    ...sizeRows(training),
    ["made", `${new Date().toISOString().slice(0, 10)} by reatt ${version()}`],
    ["took", `${Math.ceil(card.seconds / 60)} min${card.timed ?? ""}, on ${machine()}`],
  ],
)}

## Use

\`\`\`sh
npm install --global reatt
reatt index --model ${name} --corpus FILE --out INDEX
reatt answer --model ${name} --index INDEX "a question"
\`\`\`

\`${name}\` stands for this folder, or for its name on the hub. What was measured is about ${basename(corpus.file)} alone: on
other texts the model can be worse than its base.

## Figures

${figures(training)}

## Options

${table(["option", "value"], card.options.map(withoutFolder))}
`;
  await replaceFile(join(out, "README.md"), (handle) => handle.writeFile(text));
}

const sizeRows = ({ written }: TrainingResult): Row[] =>
  written
    ? [["size", formatBytes(written.bytes)], ...written.notes.map((note) => ["note", note])]
    : [];

const ending = ({ step, failure, outcome }: TrainingResult): string =>
  `after step ${step}${failure ? `: ${failure}` : ""}; ` +
  `this is the model of step ${outcome?.step ?? (failure ? 0 : step)}`;

function figures({ outcome }: TrainingResult): string {
  if (!outcome) return "None were measured.";
  const { answers, before, after, bm25, hybrid, choseToo, questions, step } = outcome;
  const what = answers
    ? `Answers, and retrieval of a relevant passage from the corpus, for ${questions} dev\nquestions`
    : `Retrieval of the relevant passage from a sample of the corpus, for ${questions} held-out\nexamples`;
  const measure = answers ? "exact match" : "the mean reciprocal rank (mrr)";
  const choice = choseToo
    ? `. They also chose the step, by ${measure}, and lambda, so "after" is slightly too high.`
    : ` that chose nothing. As many others chose the step, by ${measure}, and lambda.`;
  return `${what}${choice}
${hybridText(hybrid.weights, step > 0)}
${measuresTable([
  ["BM25", bm25],
  ["before", before],
  ["after", after],
  ["hybrid before", hybrid.before],
  ["hybrid after", hybrid.after],
])}`;
}

const hybridText = ({ lambda, k1, b }: HybridWeights, isStored: boolean): string =>
  `"hybrid" is BM25 (k1 ${k1}, b ${b}) / terms of the question + lambda x the model, with a lambda for each model.${isStored ? ` \`config.json\` stores lambda ${lambda}, which \`reatt answer\` uses.` : ""}
`;

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
const withoutFolder = ([name, value]: readonly [string, string]): Row =>
  FILE_OPTIONS.has(name) ? [name, basename(value)] : [name, value];

/** A table of measures, in percent: a row for each measure, a column for each system. */
function measuresTable(columns: readonly (readonly [head: string, Measures])[]): string {
  const percent = (share: number): string => (100 * share).toFixed(1);
  const names = new Set(columns.flatMap(([, measures]) => Object.keys(measures)));
  return table(
    ["measure, %", ...columns.map(([head]) => head)],
    Array.from(names, (name) => [
      name,
      ...columns.map(([, measures]) => (name in measures ? percent(measures[name]!) : "")),
    ]),
  );
}

function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
