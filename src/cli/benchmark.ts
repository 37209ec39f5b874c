/** `reatt benchmark`: a dataset end to end, the model beside BM25. Source: https://github.com/beir-cellar/beir */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBeir } from "../evaluation/beir.ts";
import type { Measures } from "../evaluation/measures.ts";
import { evaluateRun, measureRanking, type Qrels } from "../evaluation/ranking.ts";
import { InputError } from "../io/errors.ts";
import { ReAtt } from "../reatt.ts";
import { type LexicalIndex, openLexicalIndex } from "../retrieval/bm25/lexical-index.ts";
import {
  combineScores,
  type HybridScores,
  hybridScores,
  MIN_CANDIDATES,
  type TunedLambda,
  tuneLambda,
} from "../retrieval/hybrid.ts";
import type { SearchHit, TokenIndex } from "../retrieval/search/token-index.ts";
import { indexCommand } from "./build-index.ts";
import { ENGINE_OPTIONS, openToSearch } from "./engine.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";
import { startProgress } from "./progress.ts";

/** Queries that share a pass over the index. */
const QUERIES_AT_ONCE = 64;
/** BEIR's main measure: lambda is chosen by it. */
const TUNED_MEASURE = "ndcg@10";
const COLUMNS = ["ndcg@10", "recall@100", "map", "mrr"] as const;

interface System {
  readonly name: string;
  readonly lambda?: number;
  /** Mean time of a search. */
  readonly milliseconds: number;
  readonly measures: Measures;
}

/** How lambda was chosen. */
interface Tuned {
  readonly split: string;
  readonly queries: number;
  readonly lambda: number;
  readonly [TUNED_MEASURE]: number;
  readonly tried: TunedLambda["tried"];
}

interface Summary {
  readonly split: string;
  readonly queries: number;
  readonly passages: number;
  readonly topK: number;
  readonly tuned: Tuned | undefined;
  readonly systems: readonly System[];
}

/** What searches. */
interface Retrievers {
  /** Query -> its text. */
  readonly texts: ReadonlyMap<string, string>;
  readonly lexical: LexicalIndex;
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly topK: number;
}

/** What was found for a query. */
interface Found {
  readonly query: string;
  readonly lexical: readonly SearchHit[];
  readonly dense: readonly SearchHit[];
  /** Of these two lists. */
  readonly union: readonly HybridScores[];
}

/** Milliseconds of searches, and of the scores that either list lacks. */
interface Times {
  lexical: number;
  dense: number;
  union: number;
}

/** What was found for the judged queries of a split. */
interface Searched {
  readonly qrels: Qrels;
  readonly queries: readonly Found[];
  /** Means. */
  readonly times: Times;
}

export const benchmarkCommand: Command = {
  name: "benchmark",
  summary: "Measures retrieval on a BEIR dataset, with BM25 beside it.",
  help: () => commandFor("DIR").help(),
  async run([folder, ...args], signal) {
    if (folder === undefined || folder.startsWith("-")) {
      throw new UsageError("benchmark which dataset? reatt benchmark DIR --model DIR");
    }
    await commandFor(folder).run(args, signal);
  },
};

const commandFor = (folder: string): Command =>
  defineCommand({
    name: `benchmark ${folder}`,
    summary: benchmarkCommand.summary,
    options: {
      model: { kind: "text", placeholder: "DIR", help: "folder of the model", required: true },
      index: {
        kind: "text",
        placeholder: "DIR",
        help: "an index of the corpus; without it, one is made and removed again",
      },
      "index-options": {
        kind: "text",
        placeholder: "NAME=VALUE,...",
        help: "how that one is made: options of reatt index, such as bits=2,max-passage-tokens=256",
      },
      ...ENGINE_OPTIONS,
      split: {
        kind: "text",
        placeholder: "NAME",
        help: "what is measured: qrels/NAME.tsv, or NAME.jsonl with the passage_id of questions (default test)",
      },
      tune: {
        kind: "text",
        placeholder: "NAME",
        help: "measure BM25 + lambda x model too; lambda is chosen on the qrels of this split",
      },
      "top-k": { kind: "integer", help: "passages for a query", default: 100, minimum: 1 },
      json: { kind: "flag", help: "one JSON object" },
    },
    async run(values, signal) {
      const { model: modelFolder, split = "test", tune, "top-k": topK, json } = values;
      if (values.index !== undefined && values["index-options"] !== undefined)
        throw new UsageError("--index-options with --index: that index is made already");
      const dataset = await openBeir(folder);
      const qrels = await dataset.qrels(split);
      const tuning = tune === undefined ? undefined : await dataset.qrels(tune);
      if (tuning) checkDisjoint(qrels, split, tuning, tune!);
      await using scratch = await temporaryFolder();
      if (values.index === undefined) {
        const options = values["index-options"]?.split(",").map((option) => `--${option}`) ?? [];
        const given = ["--model", modelFolder, "--corpus", dataset.corpus, "--out", scratch.path];
        await indexCommand.run([...options, ...given], signal);
      }
      await using model = await ReAtt.load(modelFolder);
      await using index = await openToSearch(model, values.index ?? scratch.path, values, signal);
      const lexical = await openLexicalIndex(index, { signal });
      const retrievers: Retrievers = { texts: dataset.queries, lexical, model, index, topK };
      const searched = await searchAll(qrels, retrievers, signal);
      const development = tuning && (await searchAll(tuning, retrievers, signal));
      const tuned = development && { split: tune!, queries: tuning.size, ...tuneOn(development) };
      const systems = [lexicalSystem(searched, topK), denseSystem(searched, topK)];
      if (tuned) systems.push(interpolatedSystem(searched, tuned.lambda, topK));
      const summary = {
        split,
        queries: qrels.size,
        passages: index.passageCount,
        topK,
        tuned,
        systems,
      };
      process.stdout.write(`${json ? JSON.stringify(summary) : formatSummary(summary)}\n`);
    },
  });

/** A figure of queries by which lambda was chosen would say nothing. */
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

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "reatt-benchmark-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Both searches for every judged query. A query that is itself a passage is not its own result, as in BEIR. */
async function searchAll(
  qrels: Qrels,
  retrievers: Retrievers,
  signal: AbortSignal,
): Promise<Searched> {
  const queries = [...qrels.keys()];
  const found: Found[] = [];
  const times: Times = { lexical: 0, dense: 0, union: 0 };
  const progress = startProgress("queries", queries.length);
  try {
    for (let first = 0; first < queries.length; first += QUERIES_AT_ONCE) {
      const together = queries.slice(first, first + QUERIES_AT_ONCE);
      found.push(...(await searchTogether(together, retrievers, times, signal)));
      progress.update(found.length);
    }
  } finally {
    progress.stop();
  }
  return { qrels, queries: found, times };
}

/** Adds what it takes to `times`. */
async function searchTogether(
  queries: readonly string[],
  { texts, lexical: lexicalIndex, model, index, topK }: Retrievers,
  times: Times,
  signal: AbortSignal,
): Promise<Found[]> {
  const depth = Math.max(MIN_CANDIDATES, topK); // as in a search with lambda
  const questions = queries.map((query) => texts.get(query)!);
  const others = (hits: readonly SearchHit[], query: string) =>
    hits.filter(({ id }) => id !== query).slice(0, depth);
  const search = { topK: depth + 1, signal };
  const start = performance.now();
  const lexical = questions.map((question) => lexicalIndex.search(question, search));
  const afterLexical = performance.now();
  const vectors = await model.encodeQuestions(questions, { signal });
  const dense = await index.searchBatch(vectors, search);
  const afterDense = performance.now();
  const found: Found[] = [];
  for (const [i, query] of queries.entries()) {
    const lists = { lexical: others(lexical[i]!, query), dense: others(dense[i]!, query) };
    const question = { text: questions[i]!, vectors: vectors[i]! };
    found.push({
      query,
      ...lists,
      union: await hybridScores(index, lexicalIndex, question, lists),
    });
  }
  times.lexical += afterLexical - start;
  times.dense += afterDense - afterLexical;
  times.union += performance.now() - afterDense;
  return found;
}

function tuneOn({ queries, qrels }: Searched): Omit<Tuned, "split" | "queries"> {
  const { lambda, value, tried } = tuneLambda(
    queries,
    (ranking, { query }) => measureRanking(ranking, qrels.get(query)!, [10])[TUNED_MEASURE]!,
  );
  return { lambda, [TUNED_MEASURE]: value, tried };
}

const lexicalSystem = (searched: Searched, topK: number): System => ({
  name: "BM25",
  milliseconds: searched.times.lexical / searched.queries.length,
  measures: measure(searched, topK, ({ lexical }) => lexical),
});

const denseSystem = (searched: Searched, topK: number): System => ({
  name: "ReAtt",
  milliseconds: searched.times.dense / searched.queries.length,
  measures: measure(searched, topK, ({ dense }) => dense),
});

const interpolatedSystem = (searched: Searched, lambda: number, topK: number): System => ({
  name: `BM25 + ${lambda} x ReAtt`,
  lambda,
  milliseconds:
    (searched.times.lexical + searched.times.dense + searched.times.union) /
    searched.queries.length,
  measures: measure(searched, topK, ({ union }) => combineScores(union, lambda)),
});

function measure(
  { queries, qrels }: Searched,
  topK: number,
  rank: (found: Found) => readonly SearchHit[],
): Measures {
  const run = new Map(queries.map((found) => [found.query, rank(found).slice(0, topK)]));
  return evaluateRun(run, qrels).measures;
}

function formatSummary({ split, queries, passages, topK, tuned, systems }: Summary): string {
  const rows = systems.map(({ name, milliseconds, measures }) => [
    name,
    ...COLUMNS.map((column) => measures[column]!.toFixed(4)),
    milliseconds.toFixed(1),
  ]);
  const table = [["", ...COLUMNS, "ms/query"], ...rows];
  const width = Math.max(...table.map(([name]) => name!.length));
  const lines = table.map(
    ([name, ...cells]) =>
      `${name!.padEnd(width)}${cells.map((cell) => cell.padStart(12)).join("")}`,
  );
  if (tuned)
    lines.push(
      `lambda ${tuned.lambda}: best ${TUNED_MEASURE} on ${tuned.split} (${tuned.queries} queries), ` +
        `${tuned[TUNED_MEASURE].toFixed(4)}; reatt retrieve --lambda ${tuned.lambda} ranks so`,
    );
  return [`${split}: ${queries} queries, ${passages} passages, ${topK} retrieved`, ...lines].join(
    "\n",
  );
}
