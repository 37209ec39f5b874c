/**
 * Finds k1 and b for which BM25 ranks the known passage first most often, and lambda of hybrid
 * search as `reatt adapt` does (`robustLambda`). Prints them as options of measure.ts. Do not use
 * questions that you measure on afterwards.
 *
 *     npx tsx recipes/reatt-mini/tune-bm25.ts --model DIR --corpus FILE --questions FILE
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { robustLambda } from "../../src/evaluation/tune-lambda.ts";
import { ReAtt } from "../../src/reatt.ts";
import { buildBm25 } from "../../src/retrieval/bm25/bm25.ts";
import {
  combineScores,
  type HybridScores,
  hybridParameters,
  hybridScores,
  MIN_CANDIDATES,
} from "../../src/retrieval/hybrid.ts";
import { openLexicalIndex } from "../../src/retrieval/lexical-index.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";
import { idsOf, reciprocalRank } from "../../src/training/verdict/measured-set.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    corpus: { type: "string", default: "runs/reatt-mini/reading/held-out/new-wiki-corpus.jsonl" },
    questions: { type: "string", default: "runs/reatt-mini/reading/held-out/new-wiki.jsonl" },
  },
});
const K1 = [0.6, 0.9, 1.2, 1.5, 1.8, 2.1];
const B = [0.2, 0.4, 0.6, 0.75, 0.9];

interface Parameters {
  readonly k1: number;
  readonly b: number;
}

/** The passages that hybrid search ranks for a question. */
interface Candidates {
  readonly passageId: string | undefined;
  readonly union: HybridScores;
}

async function tuneParameters(questions: readonly TrainingQuestion[]): Promise<Parameters> {
  const bm25 = await buildBm25(readPassages(values.corpus));
  let best = { k1: 0, b: 0, right: -1 };
  for (const k1 of K1)
    for (const b of B) {
      const isRight = ({ question, passageId }: TrainingQuestion): boolean =>
        bm25.search(question, 1, { k1, b })[0]?.id === passageId;
      const right = questions.filter(isRight).length;
      process.stdout.write(
        `k1 ${k1} b ${b}: R@1 ${((100 * right) / questions.length).toFixed(2)}\n`,
      );
      if (right > best.right) best = { k1, b, right };
    }
  return { k1: best.k1, b: best.b };
}

async function tune(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly TrainingQuestion[],
): Promise<void> {
  const parameters = await tuneParameters(questions);
  const { bm25 } = await openLexicalIndex(index, parameters);
  const candidates: Candidates[] = [];
  for (const { question: text, passageId } of questions) {
    const [vectors] = await model.encodeQuestions([text]);
    const question = { text, vectors: vectors! };
    const [dense] = await index.rankings([vectors!], { topK: MIN_CANDIDATES });
    const lists = { lexical: bm25.rank(text, MIN_CANDIDATES, hybridParameters()), dense: dense! };
    candidates.push({ passageId, union: await hybridScores(index, bm25, question, lists) });
  }
  const lambda = robustLambda(candidates, (ranking, { passageId }) =>
    reciprocalRank(idsOf(ranking, bm25), (id) => id === passageId),
  );
  const isFirst = ({ union, passageId }: Candidates): boolean =>
    idsOf(combineScores(union, lambda, 1), bm25)[0] === passageId;
  const right = candidates.filter(isFirst).length;
  process.stdout.write(`R@1 of both ${((100 * right) / questions.length).toFixed(2)}\n`);
  process.stdout.write(`--k1 ${parameters.k1} --b ${parameters.b} --lambda ${lambda}\n`);
}

const directory = await mkdtemp(join(tmpdir(), "reatt-tune-"));
try {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(readPassages(values.corpus), {
    ...{ directory, bits: 32 },
  });
  await tune(model, index, await readTrainingFile(values.questions));
} finally {
  await rm(directory, { recursive: true });
}
