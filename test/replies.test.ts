/** What is said beside an answer: its source, unread tokens, bad questions, scores of passages. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { storeCalibration } from "../src/evaluation/index.ts";
import { InputError, ReAtt } from "../src/index.ts";
import { ScoreCalibrationFile } from "../src/model/score-calibration.ts";
import { windowsOf } from "../src/text/tokens/windows.ts";
import { calibrationOf } from "./support/calibration.ts";
import { tinyConfig } from "./support/tiny-model.ts";
import { makeTinyModel, temporaryFolder } from "./support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
await makeTinyModel(at("model"), tinyConfig());

const WORDS = "The Rhine flows from the Alps to the North Sea. ";
const PASSAGES = [
  { id: "short", title: "Rhine", text: WORDS },
  { id: "long", title: "Rhine", text: WORDS.repeat(100) },
  { id: "other", title: "James Watt", text: "James Watt patented a steam engine in 1781." },
];

test("minScore leaves out passages with lower scores", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(PASSAGES, { directory: at("scores") });
  const all = await model.retrieve("Where does it flow?", index, { topK: 3 });
  assert.is(all.length, 3);
  const { score } = all[1]!;
  const some = await model.retrieve("Where does it flow?", index, { topK: 3, minScore: score });
  assert.equal(
    some.map(({ id }) => id),
    all.filter((hit) => hit.score >= score).map(({ id }) => id),
  );
  const none = { topK: 3, minScore: all[0]!.score + 1 };
  assert.equal(await model.retrieve("Where does it flow?", index, none), []);
});

test("a reply names what the question names and no passage has", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(PASSAGES, { directory: at("unknown") });
  const unknown = async (question: string, options = {}): Promise<unknown> =>
    (await model.answer(question, index, { maxAnswerTokens: 2, ...options })).unknown;
  assert.equal(await unknown("What did James Watt patent in 1781 or in 1791?"), ["1791"]);
  assert.equal(await unknown("What did James Prescott Joule patent?"), ["Prescott", "Joule"]);
  assert.is(await unknown("What did James Watt patent in 1781?"), undefined);
  const filter = (ordinal: number): boolean => ordinal < 2;
  assert.equal(await unknown("Did James Watt sail the Rhine?", { filter }), ["James", "Watt"]);
  const read = await model.read("What did James Joule patent?", PASSAGES, { maxAnswerTokens: 2 });
  assert.is(read.unknown, undefined); // of passages of the caller
});

test("a long passage is read in windows, and ranked by the best of them", async () => {
  await using model = await ReAtt.load(at("model"));
  const question = "Where does it flow?";
  for (const reader of ["fusion", "marginal"] as const) {
    const options = { reader, extractive: true, minimumConfidence: 0, maxAnswerTokens: 4 };
    const { answer, passages } = await model.read(question, PASSAGES, options);
    const [long] = passages.filter(({ id }) => id === "long");
    assert.is(long!.cutTokens, undefined);
    if (reader === "fusion") {
      const sum = passages.reduce((total, { attention }) => total + attention, 0);
      assert.ok(Math.abs(sum - 1) < 1e-5, `${sum}`);
    }
    for (const { text, span } of passages)
      if (span) assert.is(text.slice(span.start, span.end).toLowerCase(), answer.toLowerCase());
  }
  const parts = windowsOf(model.tokenizer, PASSAGES[1]!, 512).map((window, i) => ({
    ...{ id: `${i}`, ...window },
  }));
  assert.ok(parts.length > 2);
  const [best] = await model.rerank(question, parts, { topK: 1 });
  const ranked = await model.rerank(question, PASSAGES);
  assert.is(ranked.find(({ id }) => id === "long")!.score, best!.score);
});

test("of many windows, a reply says how many tokens were not read", async () => {
  await using model = await ReAtt.load(at("model"));
  const passages = [{ ...PASSAGES[1]!, text: WORDS.repeat(600) }, PASSAGES[0]!];
  const { passages: read } = await model.read("Where does it flow?", passages);
  assert.ok(read[0]!.cutTokens! > 1_000, `${read[0]!.cutTokens}`);
  assert.is(read[1]!.cutTokens, undefined);
});

test("a question that is too long has an error of its own", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(PASSAGES, { directory: at("batch") });
  const questions = ["Where does it flow?", "why ".repeat(600), "Who patented it?"];
  for (const found of [model.answer(questions, index), model.retrieve(questions, index)]) {
    const results: { passages: readonly unknown[]; error?: InputError | undefined }[] = [];
    for await (const result of found) results.push(result);
    assert.equal(
      results.map(({ error }) => error instanceof InputError),
      [false, true, false],
    );
    assert.match(results[1]!.error!.message, /at most 512 tokens/);
    assert.equal(results[1]!.passages, []);
    assert.ok(results[2]!.passages.length > 0);
  }
  const error = await model.retrieve(questions[1]!, index).catch((reason: unknown) => reason);
  assert.instance(error, InputError);
});

test("an answer has its sentence and a link, from text and from titles", async () => {
  await using model = await ReAtt.load(at("model"));
  const options = { extractive: true, minimumConfidence: 0, maxAnswerTokens: 3 };
  const passages = [
    {
      id: "a",
      title: "Rhine",
      text: `${WORDS.repeat(4)}`,
      metadata: { _source: "r.pdf", _page: 2 },
    },
    { id: "b", title: "Watt", text: PASSAGES[2]!.text, metadata: { url: "https://a.org/w" } },
    { id: "c", title: "The title alone has the answer", text: "" },
  ];
  const linkBase = "https://example.org/docs";
  await using index = await model.index(passages, { directory: at("links"), linkBase });
  for (const id of ["a", "b", "c"]) {
    const filter = new Set([id]);
    const { answer, source } = await model.answer("Who?", index, { ...options, filter, topK: 1 });
    assert.is(source!.id, id);
    assert.is(source!.sentence.slice(source!.span.start, source!.span.end), answer);
    const [passage] = passages.filter((own) => own.id === id);
    const sentences = id === "a" ? [WORDS.trim()] : [passage!.text];
    assert.ok([...sentences, passage!.title].includes(source!.sentence), source!.sentence);
    const links = { a: `${linkBase}/r.pdf#page=2`, b: "https://a.org/w", c: `${linkBase}/c` };
    assert.is(source!.link, links[id as "a"]);
    assert.is(source!.page, id === "a" ? 2 : undefined);
  }
  await using later = await model.add([PASSAGES[0]!], { directory: at("links") });
  assert.is(later.header.linkBase, linkBase);
  const abstention = { ...options, minimumConfidence: 1 };
  assert.is((await model.answer("Who?", index, abstention)).source, undefined);
});

test("a score is a probability in the order of what ranks; explain shows both", async () => {
  const [slope, lambda, meanSimilarity] = [3, 0.5, 0.1];
  const curve = { intercept: -1, slope };
  const scoreCalibration = { similarity: curve, hybrid: { ...curve, lambda, meanSimilarity } };
  await storeCalibration(at("model"), { scoreCalibration }, at("scored"));
  await using model = await ReAtt.load(at("scored"));
  await using index = await model.index(PASSAGES, { directory: at("scored-index") });
  const question = "Who patented a steam engine?";
  const probability = (x: number): number => 1 / (1 + Math.exp(-x));
  for (const hybrid of [false, { lambda }, { lambda: 2 }, { lambda: 0 }] as const) {
    const hits = await model.retrieve(question, index, { hybrid, explain: true });
    const own = hybrid ? hybrid.lambda : lambda;
    for (const { score, scores } of hits) {
      const { ranking, similarity, words } = scores!;
      const expected = probability(-1 + slope * (ranking + (lambda - own) * meanSimilarity));
      assert.ok(Math.abs(score - expected) < 1e-12, `${score}, not ${expected}`);
      if (hybrid) assert.ok(Math.abs(words! + own * similarity - ranking) < 1e-9);
      else assert.equal([ranking, words], [similarity, undefined]);
    }
    assert.equal(
      hits.map(({ score }) => score),
      hits.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    const filter = new Set([hits[1]!.id]);
    const alone = await model.retrieve(question, index, { hybrid, filter });
    assert.equal([alone[0]!.id, alone[0]!.score], [hits[1]!.id, hits[1]!.score], "without others");
    const minScore = hits[1]!.score;
    const some = await model.retrieve(question, index, { hybrid, minScore });
    assert.equal(
      some.map(({ id, scores }) => [id, scores]),
      hits.filter(({ score }) => score >= minScore).map(({ id }) => [id, undefined]),
    );
    assert.equal(await model.retrieve(question, index, { hybrid, minScore: 1 }), []);
    assert.is((await model.retrieve(question, index, { hybrid, minScore: 0 })).length, 3);
  }
  for (const { id, score } of await model.rerank(question, PASSAGES)) {
    const alone = PASSAGES.filter((passage) => passage.id === id);
    assert.is((await model.rerank(question, alone))[0]!.score, score);
    assert.ok(score > 0 && score < 1);
  }
});

test("rerank keeps the order of scores whose probabilities are equal", async () => {
  const question = "Who patented a steam engine?";
  const scoreCalibration = { similarity: { intercept: 100, slope: 1e-9 } };
  await storeCalibration(at("model"), { scoreCalibration }, at("certain"));
  await using certain = await ReAtt.load(at("certain"));
  await using model = await ReAtt.load(at("model"));
  const expected = (await model.rerank(question, PASSAGES)).map(({ id }) => id);
  for (const passages of [PASSAGES, PASSAGES.toReversed()]) {
    const ranked = await certain.rerank(question, passages);
    assert.equal(
      ranked.map(({ id, score }) => [id, score]),
      expected.map((id) => [id, 1]),
    );
  }
});

test("storeCalibration keeps the calibration that is not given, also as undefined", async () => {
  const scoreCalibration = { similarity: { intercept: 0, slope: 1 } };
  await storeCalibration(at("model"), { scoreCalibration }, at("kept"));
  const calibration = calibrationOf(0, { margin: 1 });
  // @ts-expect-error JavaScript can give undefined
  await storeCalibration(at("kept"), { calibration, scoreCalibration: undefined });
  await using model = await ReAtt.load(at("kept"));
  assert.equal(model.config.scoreCalibration, scoreCalibration);
});

test("a curve of an earlier model is read without its difference to the best passage", () => {
  const similarity = { intercept: -11, best: 17, behind: 66 };
  const hybrid = { ...similarity, lambda: 14.5, meanSimilarity: 0.5 };
  const { best: slope, behind: _, ...scale } = hybrid;
  assert.equal(ScoreCalibrationFile.parse({ similarity, hybrid }), {
    similarity: { intercept: -11, slope: 17 },
    hybrid: { ...scale, slope },
  });
});

const COPIES = [
  ...PASSAGES.slice(2),
  ...["a", "b"].map((id) => ({ id, title: "Rhine", text: WORDS.repeat(3), document: `${id}.md` })),
];

test("near-duplicates share a place in answers, and in retrieve on request", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(COPIES, { directory: at("copies"), linkBase: "http://x/" });
  const question = "Where does it flow?";
  const all = await model.retrieve(question, index);
  assert.equal([all.length, all.filter(({ duplicates }) => duplicates).length], [3, 0]);
  const { passages } = await model.answer(question, index, { minimumConfidence: 0 });
  for (const hits of [await model.retrieve(question, index, { distinct: true }), passages]) {
    const [kept, ...others] = hits.filter(({ title }) => title === "Rhine");
    assert.equal([hits.length, others], [2, []]);
    const other = kept!.id === "a" ? "b" : "a";
    const document = `${other}.md`;
    const link = `http://x/${document}`;
    assert.equal(kept!.duplicates, [{ id: other, title: "Rhine", document, link }]);
  }
  const both = { minimumConfidence: 0, distinct: false };
  assert.is((await model.answer(question, index, both)).passages.length, 3);
});

test("keywords choose passages in a batch beside plain questions", async () => {
  await using model = await ReAtt.load(at("model"));
  await using index = await model.index(COPIES, { directory: at("keywords") });
  const questions = ["steam engine -rhine", "Where does it flow?", '"north sea" document:b.md'];
  const found: string[][] = [];
  for await (const { passages } of model.retrieve(questions, index))
    found.push(passages.map(({ id }) => id));
  const alone = (await model.retrieve(questions[1]!, index)).map(({ id }) => id);
  assert.equal(found, [["other"], alone, ["b"]]);
  const { passages } = await model.answer(questions[2]!, index, { minimumConfidence: 0 });
  assert.equal(
    passages.map(({ id }) => id),
    ["b"],
  );
});

test.run();
