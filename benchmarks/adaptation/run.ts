/** An adaptation and its measurement on the test queries, in a process of its own. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { exactMatch, f1 } from "../../src/evaluation/answers.ts";
import { measureRanking } from "../../src/evaluation/ranking.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { adapt } from "../../src/training/adapt.ts";
import type { Gain } from "../../src/training/verdict/decision.ts";
import { ownTask } from "../bench-index/subprocess.ts";
import { COLLECTIONS, type Collection } from "./collections.ts";

export interface AdaptationTask {
  /** A name of `COLLECTIONS`. */
  readonly collection: string;
  /** Undefined: the given model is measured. */
  readonly seed?: number | undefined;
  readonly steps: number;
  /** Folder of the given model. */
  readonly model: string;
  /** Folder of the data. */
  readonly data: string;
  /** Folder for the adapted model and the index. */
  readonly work: string;
}

/** What is kept of a task: a line of the results. */
export interface AdaptationFigures {
  readonly collection: string;
  readonly seed?: number | undefined;
  readonly date: string;
  readonly commit: string;
  /** nDCG@10 of each query in thousandths, of the model alone and of hybrid search. */
  readonly alone: readonly number[];
  readonly hybrid: readonly number[];
  /** Of each question that was answered: whether the answer is right, and F1 in thousandths. */
  readonly exactMatch?: readonly number[] | undefined;
  readonly f1?: readonly number[] | undefined;
  readonly lambda?: number | undefined;
  /** What the run says about itself. */
  readonly run?: RunFigures | undefined;
}

export interface RunFigures {
  readonly steps: number;
  readonly minutes: number;
  readonly verdict: string;
  /** The step that is kept; 0 for the given model. */
  readonly kept: number;
  readonly refused: boolean;
  /** Number of examples that report, and the gain of their mean reciprocal rank. */
  readonly examples: number;
  readonly gain: Gain;
  readonly hybridGain: Gain;
}

/** Options of a run of `--minutes 15`, but for the number of steps, and all held-out examples. */
const OPTIONS = {
  objective: "retrieval",
  questions: 32,
  candidatesPerQuestion: 2,
  maxPassageTokens: 192,
  monitorSteps: 40,
} as const;
/** Test questions that are answered, from all parts. */
const ANSWERED = 150;
const DEPTH = 100;

const task = ownTask<AdaptationTask>(import.meta.url);
if (task) console.log(JSON.stringify(await figuresOf(task)));

async function figuresOf(task: AdaptationTask): Promise<AdaptationFigures> {
  const { collection: name, seed, data, work } = task;
  const collection = await COLLECTIONS[name]!(data);
  const run = seed === undefined ? undefined : await adapted(task, collection);
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const model = run ? join(work, "model") : task.model;
  const measured = await measure(model, collection, join(work, "index"));
  const date = new Date().toISOString().slice(0, 10);
  return { collection: name, seed, date, commit, ...measured, run };
}

/** Adapts the model to the passages of a collection. */
async function adapted(
  { model, work, seed, steps }: AdaptationTask,
  { corpus }: Collection,
): Promise<RunFigures> {
  const out = join(work, "model");
  const run = adapt({ ...OPTIONS, model, corpus, out, seed, steps, index: false });
  for (;;) {
    const { done, value } = await run.next();
    if (!done) {
      if (value.type === "stage") console.error(value.name);
      if (value.type === "evaluation") console.error(value.step, value.measures.mrr);
      continue;
    }
    const { training, verdict, seconds } = value;
    const { step, refused, questions, gain, hybrid } = training!.outcome!;
    return {
      ...{ steps: training!.step, minutes: Math.round(seconds! / 6) / 10, verdict: verdict! },
      ...{ kept: step, refused: refused !== undefined, examples: questions },
      ...{ gain, hybridGain: hybrid.gain },
    };
  }
}

type Measured = Pick<AdaptationFigures, "alone" | "hybrid" | "exactMatch" | "f1" | "lambda">;

/** Exact search of whole passages of up to 512 tokens, as `reatt benchmark` does. */
async function measure(folder: string, collection: Collection, work: string): Promise<Measured> {
  const { corpus, queries, qrels, answers } = collection;
  await using model = await ReAtt.load(folder, { threads: 1 });
  console.error("measuring");
  await (await model.index(readPassages(corpus), { directory: work, replace: true }))[
    Symbol.asyncDispose
  ]();
  await using index = await model.openIndex(work, { preset: "exact", threads: 1 });
  const ids = [...qrels.keys()];
  const texts = ids.map((id) => queries.get(id)!);
  const ndcg = async (hybrid: boolean): Promise<number[]> => {
    const found = await hitLists(model.retrieve(texts, index, { topK: DEPTH, hybrid }));
    return ids.map((id, i) => {
      const ranking = found[i]!.filter((hit) => hit.id !== id) // as BEIR does
        .map((hit, rank) => ({ id: hit.id, score: -rank }));
      return thousandths(measureRanking(ranking, qrels.get(id)!, [10])["ndcg@10"]!);
    });
  };
  const every = Math.max(1, Math.floor(ids.length / ANSWERED));
  const asked = ids.filter((id, i) => i % every === 0 && answers.has(id)).slice(0, ANSWERED);
  return {
    alone: await ndcg(false),
    hybrid: await ndcg(true),
    ...(asked.length > 0 && (await read(model, index, asked, collection))),
    lambda: model.config.hybrid?.lambda,
  };
}

/** The answers of hybrid search, with the defaults of `answer`, also if the model is not sure. */
async function read(
  model: ReAtt,
  index: TokenIndex,
  asked: readonly string[],
  { queries, answers }: Collection,
): Promise<Required<Pick<AdaptationFigures, "exactMatch" | "f1">>> {
  const figures = { exactMatch: [] as number[], f1: [] as number[] };
  for (const id of asked) {
    const { answer } = await model.answer(queries.get(id)!, index, { minimumConfidence: 0 });
    figures.exactMatch.push(Number(exactMatch(answer ?? "", answers.get(id)!)));
    figures.f1.push(thousandths(f1(answer ?? "", answers.get(id)!)));
  }
  return figures;
}

function thousandths(value: number): number {
  return Math.round(1_000 * value);
}
