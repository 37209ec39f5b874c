/** `README.md` of an adapted model: a model card as the Hugging Face hub reads it. */

import { basename, join, resolve } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { Corpus } from "../data/corpus.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import type { TrainingResult } from "../run/events.ts";
import type { AdaptationPlan } from "./plan.ts";

export interface CardContent {
  readonly plan: AdaptationPlan;
  readonly training: TrainingResult;
  readonly corpus: Pick<Corpus, "digest">;
  /** SHA-256 of all that was trained on. */
  readonly data: string;
}

/** Options that say nothing of the model. */
const NOT_SHOWN = new Set([
  "model",
  "corpus",
  "out",
  "signal",
  "resume",
  "dryRun",
  "tagger",
  "devQuestions",
]);

/** Writes the card in one step. @throws {InputError} where the disk refuses. */
export async function writeModelCard(
  options: ResolvedAdaptOptions,
  content: CardContent,
): Promise<void> {
  const { plan, training, corpus, data } = content;
  const shown = Object.entries(options).filter(
    ([name, value]) => !NOT_SHOWN.has(name) && value !== undefined,
  );
  const text = `---
library_name: reatt
pipeline_tag: question-answering
---

# ${basename(resolve(options.out))}

A ReAtt model adapted to a corpus. ${options.querySide ? "An index made with the base serves it." : "Its index of that corpus is in `index`."}
How training went is in \`report.html\`.

${table(
  ["", ""],
  [
    ["base", options.model],
    ["corpus", `${options.corpus}, ${plan.passages} passages, SHA-256 ${corpus.digest}`],
    [
      "trained on",
      plan.sources.map(({ name, examples }) => `${name} (up to ${examples} examples)`).join(", "),
    ],
    ["training data", `SHA-256 ${data}`],
    ["ended", ending(training)],
  ],
)}

## Figures

${figures(training)}

## Options

${table(
  ["option", "value"],
  shown.map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]),
)}
`;
  await replaceFile(join(options.out, "README.md"), (handle) => handle.writeFile(text));
}

const ending = ({ step, failure, monitor }: TrainingResult): string =>
  `after step ${step}${failure ? `: ${failure}` : ""}; this is the model of step ${monitor?.step ?? (failure ? 0 : step)}`;

function figures({ monitor }: TrainingResult): string {
  if (!monitor) return "There were too few examples to keep some apart for measuring.";
  const { before, after } = monitor;
  const percent = (measures: Measures, name: string): string => (100 * measures[name]!).toFixed(1);
  return `Retrieval of the right passage among a sample of the corpus, for examples that were not trained on. The best of several
measurements was kept, so "after" flatters a little.

${table(
  ["measure, %", "before", "after"],
  Object.keys(before).map((name) => [name, percent(before, name), percent(after, name)]),
)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
