/**
 * `README.md` of a trained model: a model card in the format of the Hugging Face hub.
 *
 * Source: https://huggingface.co/docs/hub/model-cards
 */

import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { version } from "../../io/version.ts";
import { FILE_OPTIONS } from "../options/run-options.ts";
import { machine } from "./run-log.ts";

export type Row = readonly string[];

export interface ModelCard {
  /** Folder of the model, where the card goes. */
  readonly out: string;
  /** Folder of the model that training began with. */
  readonly model: string;
  /** Whether that model had weights, so that this one is based on it. */
  readonly isBased: boolean;
  /** What the model is, in a sentence or two. */
  readonly description: string;
  /** File or folder of the passages, how many they are, and their SHA-256. */
  readonly corpus: { readonly file: string; readonly passages: number; readonly digest: string };
  /** The examples, by their sources and numbers. */
  readonly trainedOn: string;
  /** SHA-256 of the training examples. */
  readonly data: string;
  /** More facts about the run, in rows of a name and a text. */
  readonly facts: readonly Row[];
  /** What the run took. */
  readonly seconds: number;
  /** What `seconds` leaves out, as " before the index". Default: nothing. */
  readonly timed?: string | undefined;
  /** What was measured, in Markdown. */
  readonly figures: string;
  /** The options of the run, in rows of a name and a value. */
  readonly options: readonly (readonly [name: string, value: string])[];
}

/**
 * Writes the card and replaces an existing one.
 *
 * @throws {InputError} if the disk refuses
 */
export async function writeModelCard(card: ModelCard): Promise<void> {
  const { out, model, isBased, description, corpus, trainedOn, data, facts, figures } = card;
  const title = modelTitle(model);
  const text = `---
library_name: reatt
pipeline_tag: question-answering
${isBased ? `base_model: ${title.replace(/@.*/u, "")}\n` : ""}${await inheritedFields(model)}---

# ${basename(resolve(out))}

${description}

${table(
  ["", ""],
  [
    ["base", isBased ? title : `${title}, its shape alone: training began with random weights`],
    ["corpus", `${basename(corpus.file)}, ${corpus.passages} passages, SHA-256 ${corpus.digest}`],
    ["trained on", trainedOn],
    ["training data", `SHA-256 ${data}`],
    ...facts,
    ["made", `${new Date().toISOString().slice(0, 10)} by reatt ${version()}`],
    ["took", `${Math.ceil(card.seconds / 60)} min${card.timed ?? ""}, on ${machine()}`],
  ],
)}

## Figures

${figures}

## Options

${table(["option", "value"], card.options.map(withoutFolder))}
`;
  await replaceFile(join(out, "README.md"), (handle) => handle.writeFile(text));
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
const withoutFolder = ([name, value]: readonly [string, string]): Row =>
  FILE_OPTIONS.has(name) ? [name, basename(value)] : [name, value];

/** A table of measures, in percent: a row for each measure, a column for each system. */
export function measuresTable(columns: readonly (readonly [head: string, Measures])[]): string {
  const percent = (share: number): string => (100 * share).toFixed(1);
  return table(
    ["measure, %", ...columns.map(([head]) => head)],
    Object.keys(columns[0]![1]).map((name) => [
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
