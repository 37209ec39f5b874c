/** A dataset in BEIR's form: a folder of `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`. Source: https://github.com/beir-cellar/beir */

import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../errors.ts";
import { readPassages, readQuestions } from "../text/corpus.ts";
import type { Passage } from "../text/passage.ts";
import type { Judgements } from "./ranking.ts";
import { readJudgements } from "./trec.ts";

export interface BeirDataset {
  /** The file of the passages. */
  readonly corpus: string;
  /** Reads the corpus anew at each call. */
  readonly passages: (signal?: AbortSignal) => AsyncGenerator<Passage, void>;
  /** Query -> its text. */
  readonly queries: ReadonlyMap<string, string>;
  /** The splits that have judgements, in alphabetical order. */
  readonly splits: readonly string[];
  /** The judgements of a split. Each query that is judged is in `queries`. */
  readonly judgements: (split: string) => Promise<Judgements>;
}

/**
 * Opens a dataset. Its JSON Lines files may be compressed (`corpus.jsonl.gz`).
 *
 * @throws {InputError} where a file is missing or not in its form.
 */
export async function openBeir(folder: string): Promise<BeirDataset> {
  const corpus = await firstOf(folder, ["corpus.jsonl", "corpus.jsonl.gz"]);
  const questions = await readQuestions(await firstOf(folder, ["queries.jsonl", "queries.jsonl.gz"]));
  const queries = new Map(questions.map(({ id, question }) => [id, question]));
  const splits = await listSplits(join(folder, "qrels"));
  return {
    corpus,
    passages: (signal) => readPassages(corpus, signal),
    queries,
    splits,
    async judgements(split) {
      if (!splits.includes(split)) {
        const expected = splits.join(" or ") || "judgements in qrels/SPLIT.tsv";
        throw new InputError({
          where: `split of ${folder}`,
          expected,
          got: split,
          remedy: "name one that is there",
        });
      }
      const file = join(folder, "qrels", `${split}.tsv`);
      const judgements = await readJudgements(file);
      const unknown = [...judgements.keys()].find((query) => !queries.has(query));
      if (unknown === undefined) return judgements;
      throw new InputError({
        where: file,
        expected: "queries of queries.jsonl",
        got: `query "${unknown}"`,
        remedy: "use the files of one dataset",
      });
    },
  };
}

async function listSplits(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(".tsv"))
    .map((name) => name.slice(0, -".tsv".length))
    .sort();
}

/** The first of the named files that is there. */
async function firstOf(folder: string, names: readonly string[]): Promise<string> {
  for (const name of names) {
    const file = join(folder, name);
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  throw new InputError({
    where: folder,
    expected: `${names.join(" or ")} in it`,
    got: "neither",
    remedy: "name the folder of a BEIR dataset",
  });
}
