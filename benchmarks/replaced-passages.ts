/**
 * Whether answers follow the index: the answer in the gold passage of a question is replaced, and
 * the question is asked again.
 *
 *     node --import tsx benchmarks/replaced-passages.ts --model DIR --index DIR \
 *       --corpus FILE.jsonl --queries FILE.jsonl [--count N] [--seed N]
 *
 * The questions have `answers` and the `passage_id` of their gold passage, of which each has one
 * question at most. Answers are names or numbers. The replacement is an answer of another question
 * of the same kind (a name of as many words, a number of as many digits) that the passage does not
 * contain. The index is copied; the copy gets the changed
 * passages with `add`, and the other passages stay. Every question is asked with both readers in
 * turns, which gives the ratio of their times.
 */

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { containsAnswer, exactMatch } from "../src/evaluation/answers.ts";
import { createRandom } from "../src/math/random.ts";
import { ReAtt } from "../src/reatt.ts";
import type { TokenIndex } from "../src/retrieval/search/token-index.ts";
import type { Passage } from "../src/text/passage.ts";
import { readPassages, readQuestions } from "../src/text/read-passages.ts";
import { median } from "./bench/timing.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    index: { type: "string", default: "" },
    corpus: { type: "string", default: "" },
    queries: { type: "string", default: "" },
    count: { type: "string", default: "120" },
    seed: { type: "string", default: "1" },
  },
});
const READERS = ["fusion", "marginal"] as const;
type Reader = (typeof READERS)[number];
const PASSAGES = 5;

/** A question whose gold passage is replaced. */
interface Case {
  readonly question: string;
  readonly answers: readonly string[];
  readonly replacement: string;
  /** The gold passage with the replacement. */
  readonly passage: Passage;
}

/** Numbers by their length, names by their words; undefined for all other answers. */
function kindOf(answer: string): string | undefined {
  if (/^[\d,.]+$/.test(answer)) return `number of ${answer.length} characters`;
  const words = answer.split(" ");
  const isName = words.every((word) => /^\p{Lu}\p{L}+$/u.test(word));
  return isName ? `name of ${words.length} words` : undefined;
}

const wholeWords = (text: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}])${text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}(?![\\p{L}\\p{N}])`,
    "gu",
  );

async function readCases(): Promise<Case[]> {
  const passages = new Map<string, Passage>();
  for await (const passage of readPassages(values.corpus)) passages.set(passage.id, passage);
  const random = createRandom("replaced passages", values.seed);
  const questions = random.shuffle(await readQuestions(values.queries));
  const donors = questions.flatMap(({ answers = [] }) => answers.slice(0, 1));
  const cases = new Map<string, Case>(); // by passage
  for (const { question, answers = [], passageId = "" } of questions) {
    const gold = passages.get(passageId);
    const answer = answers.find((one) => kindOf(one) !== undefined);
    if (cases.size === Number(values.count) || !gold || cases.has(passageId) || !answer) continue;
    const replacement = random
      .shuffle(donors)
      .find((other) => kindOf(other) === kindOf(answer) && !containsAnswer(gold.text, [other]));
    const text = gold.text.replace(wholeWords(answer), () => replacement ?? "");
    // Another accepted answer that is still there would be right.
    if (replacement === undefined || containsAnswer(text, answers)) continue;
    cases.set(passageId, { question, answers, replacement, passage: { ...gold, text } });
  }
  return [...cases.values()];
}

interface Asked {
  readonly answer: string;
  readonly milliseconds: number;
  /** Whether the gold passage was read. */
  readonly hasGold: boolean;
}

/** Asks all questions with both readers, one after the other. */
async function ask(
  model: ReAtt,
  index: TokenIndex,
  cases: readonly Case[],
): Promise<Record<Reader, Asked[]>> {
  const asked: Record<Reader, Asked[]> = { fusion: [], marginal: [] };
  for (const { question, passage } of cases)
    for (const reader of READERS) {
      const options = { reader, readTopK: PASSAGES, topK: PASSAGES, minimumConfidence: 0 };
      const { answer, passages, times } = await model.answer(question, index, options);
      const hasGold = passages.some(({ id }) => id === passage.id);
      asked[reader].push({ answer, milliseconds: times.read, hasGold });
    }
  return asked;
}

const share = (isTrue: readonly boolean[]): string =>
  `${isTrue.filter(Boolean).length} of ${isTrue.length}`;

const cases = await readCases();
const directory = join(await mkdtemp(join(tmpdir(), "reatt-replaced-")), "index");
try {
  await cp(values.index, directory, { recursive: true });
  await using model = await ReAtt.load(values.model);
  await using original = await model.openIndex(values.index);
  await ask(model, original, cases.slice(0, 2)); // warm-up
  const before = await ask(model, original, cases);
  await using changed = await model.add(
    cases.map(({ passage }) => passage),
    { directory },
  );
  const after = await ask(model, changed, cases);
  for (const reader of READERS) {
    const right = cases.map(({ answers }, i) => exactMatch(before[reader][i]!.answer, answers));
    console.log(`${reader}: right before: ${share(right)}`);
    const groups = {
      "all questions": () => true,
      "right before": (i: number) => right[i]!,
      "right before, and the changed passage read": (i: number) =>
        right[i]! && after[reader][i]!.hasGold,
    };
    for (const [name, isIn] of Object.entries(groups)) {
      const chosen = cases.map((_, i) => i).filter(isIn);
      const follows = chosen.map((i) =>
        exactMatch(after[reader][i]!.answer, [cases[i]!.replacement]),
      );
      const stays = chosen.map((i) => exactMatch(after[reader][i]!.answer, cases[i]!.answers));
      const others = chosen.map((_, at) => !follows[at] && !stays[at]);
      console.log(
        `  ${name}: the new answer ${share(follows)}, the old ${share(stays)}, ` +
          `another ${share(others)}`,
      );
    }
  }
  const ratios = cases.map(
    (_, i) => before.marginal[i]!.milliseconds / before.fusion[i]!.milliseconds,
  );
  console.log(`time of reading, marginal / fusion, median: ${median(ratios).toFixed(1)}`);
  for (const { replacement, answers, question } of cases.slice(0, 5))
    console.log(`example: ${question} ${answers[0]} -> ${replacement}`);
} finally {
  await rm(join(directory, ".."), { recursive: true });
}
