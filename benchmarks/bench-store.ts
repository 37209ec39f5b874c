/**
 * Measures an index in a store beside exact search of the same codes:
 *
 *     node --import tsx benchmarks/bench-store.ts ADDRESS [PASSAGES] [QUESTIONS] [ANSWERS]
 *
 * It replaces the collection at ADDRESS by the first passages of `data/squad`; with 0 passages, it
 * takes the collection as it is. A search with as many candidates as passages is exact. It prints
 * Markdown.
 */

import { indexInfo, ReAtt, readPassages, readQuestions, type TokenIndex } from "../src/index.ts";

const [directory, passages = "2067", questionCount = "100", answerCount = "50"] =
  process.argv.slice(2);
if (directory === undefined) throw new Error("name the address of a collection");

async function* firstPassages(count: number) {
  for await (const passage of readPassages("data/squad/corpus.jsonl")) {
    if (count-- === 0) return;
    yield passage;
  }
}

const cpuSeconds = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
};

await using model = await ReAtt.load();
const started = process.cpuUsage();
const wall = performance.now();
await using built =
  passages === "0"
    ? await model.openIndex(directory)
    : await model.index(firstPassages(Number(passages)), { directory, replace: true });
const seconds = (performance.now() - wall) / 1000;
const { bytes, tokens, bits } = await indexInfo(directory);
console.log(`${built.passageCount} passages, ${tokens} keys of ${bits} bits`);
console.log(
  `import: ${((1000 * cpuSeconds(started)) / built.passageCount).toFixed(1)} ms CPU a passage, ` +
    `${seconds.toFixed(0)} s in all; ${(bytes / built.passageCount / 1000).toFixed(1)} kB a passage`,
);

const questions = (await readQuestions("test/fixtures/squad-questions/questions.jsonl"))
  .slice(0, Number(questionCount))
  .map(({ question }) => question);
const all = built.passageCount;
await using exact = await model.openIndex(directory, { candidates: all });

interface Found {
  readonly ids: readonly string[][];
  readonly cpu: number;
  readonly times: readonly number[];
}

async function find(index: TokenIndex, topK: number, hybrid?: false): Promise<Found> {
  const before = process.cpuUsage();
  const ids: string[][] = [];
  const times: number[] = [];
  for (const question of questions) {
    const start = performance.now();
    ids.push((await model.retrieve(question, index, { topK, hybrid })).map(({ id }) => id));
    times.push(performance.now() - start);
  }
  return { ids, cpu: (1000 * cpuSeconds(before)) / questions.length, times };
}

function recall(found: Found, expected: Found): string {
  let [hits, total] = [0, 0];
  for (const [i, ids] of expected.ids.entries()) {
    hits += ids.filter((id) => found.ids[i]!.includes(id)).length;
    total += ids.length;
  }
  return (hits / total).toFixed(3);
}

const quantile = ({ times }: Found, share: number): string =>
  [...times].sort((a, b) => a - b)[Math.floor(share * (times.length - 1))]!.toFixed(0);

/** The first `count` passages of each question. */
const first = ({ ids, ...others }: Found, count: number): Found => ({
  ...others,
  ids: ids.map((own) => own.slice(0, count)),
});

const expected = await find(exact, 100, false);
const expectedHybrid = await find(exact, 10);
console.log("| candidates | @10 | @100 | @10 with words | CPU ms, p50 and p95 ms with words |");
console.log("|---|---|---|---|---|");
for (const candidates of [50, 100, 200, 400]) {
  await using index = await model.openIndex(directory, { candidates });
  const isFew = candidates < 200; // a hundred passages have 200 candidates
  const dense = await find(index, isFew ? 10 : 100, false);
  const ten = recall(first(dense, 10), first(expected, 10));
  const hundred = isFew ? "" : recall(dense, expected);
  const hybrid = await find(index, 10);
  console.log(
    `| ${candidates} | ${ten} | ${hundred} | ${recall(hybrid, expectedHybrid)} | ` +
      `${hybrid.cpu.toFixed(0)}, ${quantile(hybrid, 0.5)}, ${quantile(hybrid, 0.95)} |`,
  );
}

let equal = 0;
const asked = questions.slice(0, Number(answerCount));
for (const question of asked) {
  const [reply, reference] = [
    await model.answer(question, built),
    await model.answer(question, exact),
  ];
  if (reply.answer === reference.answer) equal++;
}
console.log(`answers: ${equal} of ${asked.length} equal`);
