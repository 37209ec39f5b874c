/** `reatt benchmark`: a BEIR dataset end to end, the model beside BM25. Source: https://github.com/beir-cellar/beir */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBeir } from "../evaluation/beir.ts";
import type { Measures } from "../evaluation/measures.ts";
import { evaluateRun, type Judgements, measureRanking } from "../evaluation/ranking.ts";
import { ReAtt } from "../reatt.ts";
import { type Bm25, buildBm25, type ScoredId } from "../retrieval/bm25/bm25.ts";
import { type Candidates, interpolate, missingFrom, tuneLambda } from "../retrieval/interpolation.ts";
import type { TokenIndex } from "../retrieval/token-index.ts";
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

/** What searches. */
interface Retrievers {
  /** Query -> its text. */
  readonly texts: ReadonlyMap<string, string>;
  readonly bm25: Bm25;
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly topK: number;
}

/** What was found for the judged queries of a split. */
interface Searched {
  readonly judgements: Judgements;
  readonly candidates: ReadonlyMap<string, Candidates>;
  /** Mean times of a search. */
  readonly milliseconds: { readonly lexical: number; readonly dense: number };
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
      split: { kind: "text", placeholder: "NAME", help: "judgements: qrels/NAME.tsv (default test)" },
      tune: {
        kind: "text",
        placeholder: "NAME",
        help: "measure BM25 + lambda x model too; lambda is chosen on the judgements of this split",
      },
      "top-k": { kind: "integer", help: "passages for a query", default: 100, minimum: 1 },
      json: { kind: "flag", help: "one JSON object" },
    },
    async run(values, signal) {
      const { model: modelFolder, split = "test", tune, "top-k": topK, json } = values;
      if (values.index !== undefined && values["index-options"] !== undefined)
        throw new UsageError("--index-options with --index: that index is made already");
      const dataset = await openBeir(folder);
      const judgements = await dataset.judgements(split);
      const tuning = tune === undefined ? undefined : await dataset.judgements(tune);
      const bm25 = await buildBm25(dataset.passages(signal), { signal });
      await using scratch = await temporaryFolder();
      if (values.index === undefined) {
        const options = values["index-options"]?.split(",").map((option) => `--${option}`) ?? [];
        const given = ["--model", modelFolder, "--corpus", dataset.corpus, "--out", scratch.path];
        await indexCommand.run([...options, ...given], signal);
      }
      await using model = await ReAtt.load(modelFolder);
      await using index = await openToSearch(model, values.index ?? scratch.path, values, signal);
      const retrievers: Retrievers = { texts: dataset.queries, bm25, model, index, topK };
      const searched = await searchAll(judgements, retrievers, signal);
      const systems = [lexicalSystem(searched), denseSystem(searched)];
      if (tuning) {
        const development = await searchAll(tuning, retrievers, signal);
        systems.push(interpolatedSystem(searched, development, retrievers));
      }
      const summary = { split, queries: judgements.size, passages: bm25.size, topK, systems };
      process.stdout.write(`${json ? JSON.stringify(summary) : formatSystems(summary)}\n`);
    },
  });

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "reatt-benchmark-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Both searches for every judged query. A query that is itself a passage is not its own result, as in BEIR. */
async function searchAll(
  judgements: Judgements,
  retrievers: Retrievers,
  signal: AbortSignal,
): Promise<Searched> {
  const queries = [...judgements.keys()];
  const candidates = new Map<string, Candidates>();
  const totals = { lexical: 0, dense: 0 };
  const progress = startProgress("queries", queries.length);
  try {
    for (let first = 0; first < queries.length; first += QUERIES_AT_ONCE) {
      const together = queries.slice(first, first + QUERIES_AT_ONCE);
      const { lists, times } = await searchTogether(together, retrievers, signal);
      together.forEach((query, i) => {
        candidates.set(query, lists[i]!);
      });
      totals.lexical += times.lexical;
      totals.dense += times.dense;
      progress.update(candidates.size);
    }
  } finally {
    progress.stop();
  }
  const milliseconds = { lexical: totals.lexical / queries.length, dense: totals.dense / queries.length };
  return { judgements, candidates, milliseconds };
}

async function searchTogether(
  queries: readonly string[],
  { texts, bm25, model, index, topK }: Retrievers,
  signal: AbortSignal,
): Promise<{ lists: Candidates[]; times: { lexical: number; dense: number } }> {
  const questions = queries.map((query) => texts.get(query)!);
  const start = performance.now();
  const lexical = questions.map((question) => bm25.search(question, topK + 1));
  const middle = performance.now();
  const dense = await model.retrieve(questions, index, { topK: topK + 1, signal });
  const times = { lexical: middle - start, dense: performance.now() - middle };
  const others = (hits: readonly ScoredId[], query: string) =>
    hits.filter(({ id }) => id !== query).slice(0, topK);
  const lists = queries.map((query, i) => ({
    lexical: others(lexical[i]!, query),
    dense: others(dense[i]!, query),
  }));
  return { lists, times };
}

/** Passages that only the model found get the BM25 score that they have. */
function withExactLexicalScores(searched: Searched, { texts, bm25 }: Retrievers): Searched {
  const candidates = Array.from(searched.candidates, ([query, { lexical, dense }]): [string, Candidates] => {
    const ids = missingFrom(lexical, dense);
    const scores = bm25.score(texts.get(query)!, ids);
    return [query, { lexical: [...lexical, ...ids.map((id, i) => ({ id, score: scores[i]! }))], dense }];
  });
  return { ...searched, candidates: new Map(candidates) };
}

const lexicalSystem = (searched: Searched): System => ({
  name: "BM25",
  milliseconds: searched.milliseconds.lexical,
  measures: measure(searched, ({ lexical }) => lexical),
});

const denseSystem = (searched: Searched): System => ({
  name: "ReAtt",
  milliseconds: searched.milliseconds.dense,
  measures: measure(searched, ({ dense }) => dense),
});

function interpolatedSystem(searched: Searched, development: Searched, retrievers: Retrievers): System {
  const { judgements, candidates } = withExactLexicalScores(development, retrievers);
  const { lambda } = tuneLambda(
    Array.from(candidates, ([query, found]) => ({ query, ...found })),
    (ranking, { query }) => measureRanking(ranking, judgements.get(query)!, [10])[TUNED_MEASURE]!,
  );
  return {
    name: "BM25 + lambda x ReAtt",
    lambda,
    milliseconds: searched.milliseconds.lexical + searched.milliseconds.dense,
    measures: measure(withExactLexicalScores(searched, retrievers), (found) => interpolate(found, lambda)),
  };
}

function measure(
  { candidates, judgements }: Searched,
  rank: (found: Candidates) => readonly ScoredId[],
): Measures {
  const run = new Map(Array.from(candidates, ([query, found]) => [query, rank(found)]));
  return evaluateRun(run, judgements).measures;
}

function formatSystems({
  split,
  queries,
  passages,
  topK,
  systems,
}: {
  readonly split: string;
  readonly queries: number;
  readonly passages: number;
  readonly topK: number;
  readonly systems: readonly System[];
}): string {
  const rows = systems.map(({ name, lambda, milliseconds, measures }) => [
    lambda === undefined ? name : `${name}, lambda ${lambda.toPrecision(3)}`,
    ...COLUMNS.map((column) => measures[column]!.toFixed(4)),
    milliseconds.toFixed(1),
  ]);
  const table = [["", ...COLUMNS, "ms/query"], ...rows];
  const width = Math.max(...table.map(([name]) => name!.length));
  return [
    `${split}: ${queries} queries, ${passages} passages, ${topK} retrieved`,
    ...table.map(
      ([name, ...cells]) => `${name!.padEnd(width)}${cells.map((cell) => cell.padStart(12)).join("")}`,
    ),
  ].join("\n");
}
