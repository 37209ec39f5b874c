/**
 * A study: rows that differ in one choice, each trained with several seeds and measured in the same
 * way. Every trained model is measured once; its figures are kept in a file, so a study that is
 * stopped continues.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../src/io/replace-file.ts";
import { runFolder } from "../../src/training/run/run-folder.ts";

export type Figures = Readonly<Record<string, number>>;

/**
 * Options of `train`, with `-` between words. "" is true, `no-NAME` with "" is false; undefined
 * removes one of the study.
 */
export type Options = Readonly<Record<string, string | undefined>>;

export interface Row {
  readonly name: string;
  /** Beside those of the study. Undefined: the start itself, not trained. */
  readonly options?: Options;
  /** The model to start from, if it is not that of the study. */
  readonly start?: string;
  /** The row whose model of the same seed it starts from. */
  readonly after?: Row;
}

export interface Study {
  /** Writes the files that the rows name, once. */
  readonly prepare: () => Promise<void>;
  /** Options that all rows have. */
  readonly options: Options;
  readonly rows: readonly Row[];
  /** The figures of the model of a row, in percent. */
  readonly measure: (model: string, row: Row) => Promise<Figures>;
}

export interface Place {
  /** Folder of models, figures and data. */
  readonly folder: string;
  readonly seeds: number;
}

/** Trains and measures what has no figures yet, of every `lanes`-th row and seed from `lane` on. */
export async function runStudy(
  study: Study,
  { folder, seeds }: Place,
  { lane, lanes }: { readonly lane: number; readonly lanes: number },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await study.prepare();
  // all rows of a seed come first, so that a study that is stopped has complete seeds
  const runs = Array.from({ length: seeds }, (_, seed) =>
    study.rows.filter((row) => row.options || seed === 0).map((row) => ({ row, seed })),
  ).flat();
  for (const { row, seed } of runs.filter((_, i) => i % lanes === lane)) {
    const file = figuresFile(folder, row, seed);
    if (existsSync(file)) continue;
    const out = modelFolder(folder, row, seed);
    const start = row.after
      ? modelFolder(folder, row.after, seed)
      : (row.start ?? study.options.model!);
    const before = performance.now();
    if (row.options) await train({ ...study.options, model: start, ...row.options }, seed, out);
    const seconds = (performance.now() - before) / 1000;
    const figures = await study.measure(row.options ? out : start, row);
    await replaceFile(file, (handle) => handle.writeFile(JSON.stringify({ ...figures, seconds })));
    if (study.rows.every(({ after }) => after !== row)) await removeRun(out);
    console.error(row.name, seed, JSON.stringify(figures));
  }
}

/** A Markdown table: the mean of each figure over the seeds, and half of the range. */
export async function tableOf(study: Study, { folder, seeds }: Place): Promise<string> {
  const rows = await Promise.all(study.rows.map((row) => figuresOf(row, folder, seeds)));
  const names = new Set(rows.flat().flatMap(Object.keys));
  const shown = [...names].filter((name) => name !== "seconds");
  const lines = study.rows.map(({ name }, i) => [
    name,
    ...shown.map((figure) => spread(rows[i]!.flatMap((run) => run[figure] ?? []))),
    rows[i]!.length,
  ]);
  return [["", ...shown, "seeds"], Array(shown.length + 2).fill("---"), ...lines]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

async function figuresOf(row: Row, folder: string, seeds: number): Promise<Figures[]> {
  const files = Array.from({ length: seeds }, (_, seed) => figuresFile(folder, row, seed));
  const texts = files.filter(existsSync).map((file) => readFile(file, "utf8"));
  return (await Promise.all(texts)).map((text) => JSON.parse(text));
}

/** `80.4 ±0.3`: mean and half of the range. */
function spread(values: readonly number[]): string {
  if (values.length === 0) return "";
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const half = (Math.max(...values) - Math.min(...values)) / 2;
  return values.length === 1 ? mean.toFixed(1) : `${mean.toFixed(1)} ±${half.toFixed(1)}`;
}

const slug = ({ name }: Row): string => name.replaceAll(/[^\w]+/g, "-");

const modelFolder = (folder: string, row: Row, seed: number): string =>
  join(folder, `model ${slug(row)} ${seed}`);

const figuresFile = (folder: string, row: Row, seed: number): string =>
  join(folder, `figures ${slug(row)} ${seed}.json`);

async function train(options: Options, seed: number, out: string): Promise<void> {
  const given = Object.entries({ ...options, seed: `${seed}`, out }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text = JSON.stringify({ holdOut: false, ...Object.fromEntries(given.map(libraryOption)) });
  await removeRun(out);
  await writeFile(`${out}.json`, text);
  console.error(`reatt train --options ${out}.json # ${text}`);
  const program = ["--import", "tsx", "src/cli/main.ts", "train", "--json"];
  program.push("--options", `${out}.json`);
  const child = spawn(process.execPath, program, { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`reatt train ended with ${code}`);
}

async function removeRun(out: string): Promise<void> {
  for (const folder of [out, runFolder(out)]) await rm(folder, { recursive: true, force: true });
}

function libraryOption([name, value]: [string, string]): [name: string, value: unknown] {
  const isFalse = value === "" && name.startsWith("no-");
  const words = isFalse ? name.slice("no-".length) : name;
  const key = words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (value === "") return [key, !isFalse];
  return [key, Number.isNaN(Number(value)) ? value : Number(value)];
}
