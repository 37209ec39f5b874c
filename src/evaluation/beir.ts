/**
 * Opens a dataset folder in one of two formats:
 *
 *     BEIR (https://github.com/beir-cellar/beir)  corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv
 *     training data of reatt                      corpus.jsonl, SPLIT.jsonl (with passage_id)
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../io/errors.ts";
import type { Passage } from "../text/passage.ts";
import { type Question, readPassages, readQuestions } from "../text/read-passages.ts";
import type { Qrels } from "./ranking.ts";
import { readQrels } from "./trec.ts";

export interface BeirDataset {
  /** Path of the passage file. */
  readonly corpus: string;
  /** Reads the corpus. */
  readonly passages: (signal?: AbortSignal) => AsyncGenerator<Passage, void>;
  /** Query id -> text. */
  readonly queries: ReadonlyMap<string, string>;
  /** Names of the splits with qrels, in alphabetical order. */
  readonly splits: readonly string[];
  /** Reads the qrels of a split. All their queries are in `queries`. */
  readonly qrels: (split: string) => Promise<Qrels>;
}

/**
 * Opens a dataset. The JSON Lines files may be compressed (`corpus.jsonl.gz`).
 *
 * @throws {InputError} if a file is missing or has another format.
 */
export async function openBeir(folder: string): Promise<BeirDataset> {
  const {
    corpus,
    queries: queriesFile,
    ...splitFiles
  } = Object.fromEntries(await listJsonLines(folder));
  if (corpus === undefined) {
    const expected = "corpus.jsonl or corpus.jsonl.gz in it";
    throw new InputError({
      where: folder,
      expected,
      got: "neither",
      remedy: "name the folder of a BEIR dataset",
    });
  }
  const { queries, splits, qrels } = queriesFile
    ? await openQrels(folder, queriesFile)
    : await openQuestions(splitFiles);
  return {
    corpus,
    passages: (signal) => readPassages(corpus, signal),
    queries,
    splits,
    async qrels(split) {
      if (splits.includes(split)) return qrels(split);
      const expected =
        splits.join(" or ") || `queries.jsonl and qrels/${split}.tsv, or ${split}.jsonl`;
      const remedy = "name an existing split";
      throw new InputError({ where: `split of ${folder}`, expected, got: split, remedy });
    },
  };
}

type Judged = Pick<BeirDataset, "queries" | "splits" | "qrels">;

async function openQrels(folder: string, queriesFile: string): Promise<Judged> {
  const queries = textsOf(await readQuestions(queriesFile));
  return {
    queries,
    splits: await listNames(join(folder, "qrels"), ".tsv"),
    async qrels(split) {
      const file = join(folder, "qrels", `${split}.tsv`);
      const qrels = await readQrels(file);
      const unknown = [...qrels.keys()].find((query) => !queries.has(query));
      if (unknown === undefined) return qrels;
      throw new InputError({
        where: file,
        expected: "queries of queries.jsonl",
        got: `query "${unknown}"`,
        remedy: "use the files of one dataset",
      });
    },
  };
}

/**
 * The relevant passage of a question is its `passage_id`. A question without `passage_id` is not
 * judged.
 */
async function openQuestions(files: Readonly<Record<string, string>>): Promise<Judged> {
  const splits = new Map<string, readonly Question[]>();
  for (const [split, file] of Object.entries(files)) splits.set(split, await readQuestions(file));
  return {
    queries: textsOf([...splits.values()].flat()),
    splits: [...splits.keys()].sort(),
    async qrels(split) {
      const qrels = new Map(
        splits
          .get(split)!
          .flatMap(({ id, passageId }) => (passageId ? [[id, new Map([[passageId, 1]])]] : [])),
      );
      if (qrels.size > 0) return qrels;
      throw new InputError({
        where: files[split]!,
        expected: '"passage_id" of questions',
        got: "none",
        remedy: "name the passage that a question was asked about",
      });
    },
  };
}

const textsOf = (questions: readonly Question[]): Map<string, string> =>
  new Map(questions.map(({ id, question }) => [id, question]));

/** Finds `NAME.jsonl` and `NAME.jsonl.gz` in a folder: name -> path. */
async function listJsonLines(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const ending of [".jsonl.gz", ".jsonl"])
    for (const name of await listNames(folder, ending))
      files.set(name, join(folder, `${name}${ending}`));
  return files;
}

/** The file names of a folder with this ending, in alphabetical order and without the ending. */
async function listNames(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .sort();
}
