/**
 * The reader `marginal` of the public class with the embedded model: compared with a double loop in
 * which the decoder runs for one passage, one answer and one token at a time.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { COPY_EPSILON } from "../src/decoder/copying.ts";
import { openReaderSession, type ReaderSession } from "../src/decoder/reader-session.ts";
import { encodeSequences, openRetrieverSession } from "../src/encoder/retriever-session.ts";
import { evaluateUtility, storeCalibration } from "../src/evaluation/index.ts";
import { convertModel, type Passage, ReAtt } from "../src/index.ts";
import { readConfig, writeConfig } from "../src/model/config-file.ts";
import { loadWeights } from "../src/model/load-weights.ts";
import {
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../src/text/tokens/prompts.ts";
import { runCaptured } from "./cli/support.ts";
import { rejects, temporary } from "./retrieval/support.ts";
import { calibrationOf } from "./support/calibration.ts";
import { softmax } from "./support/naive-t5.ts";

// In float32: integer products round by the batch.
const folderOfModel = await temporary();
const MODEL = join(folderOfModel.path, "model");
test.after(async () => folderOfModel[Symbol.asyncDispose]());
await convertModel("models/reatt-mini", { out: MODEL, precision: "fp32" });
// Without a calibration of scores, rerank gives retrieval scores.
await writeConfig(MODEL, { ...(await readConfig(MODEL)), scoreCalibration: undefined }, MODEL);
const NULL = { id: "null", title: "", text: "" };
const PASSAGES: Passage[] = [
  { id: "watt", title: "James Watt", text: "James Watt patented a steam engine in 1769." },
  { id: "savery", title: "Steam", text: "Thomas Savery patented a steam pump in 1698." },
  { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
];
const QUESTIONS = ["Who patented a steam engine?", "When was steam used?", "Where is the Rhine?"];

/** log P(y | x, z): a copy of the passage's keys and values, a row and a token at a time. */
async function likelihoodAlone(
  sessions: Awaited<ReturnType<typeof openSessions>>,
  tokens: { readonly question: readonly number[]; readonly passage: readonly number[] },
  answer: readonly number[],
): Promise<number> {
  const { config, encoder, reader } = sessions;
  const { question, passage } = tokens;
  const [asked] = await encodeSequences(encoder, config, [question], "reading");
  const [read] = await encodeSequences(encoder, config, [passage], "reading");
  const fused = await reader.fuse([{ question: asked!, passages: [read!] }]);
  let past = reader.start(1);
  let sum = 0;
  for (const [t, token] of answer.entries()) {
    const last = Int32Array.of(t === 0 ? config.decoderStartId : answer[t - 1]!);
    const rows = {
      ids: { data: last, shape: [1, 1] },
      parents: { data: Int32Array.of(0), shape: [1] },
    };
    const step = await reader.step(fused, { ...rows, past });
    sum += Math.log(probabilityOf(token, step, [...question, ...passage]));
    past = step.past;
  }
  return sum;
}

/** See et al. 2017, Eq. 9. Improbable tokens show the constants that keep logarithms finite. */
function probabilityOf(
  token: number,
  { logits, copy }: Awaited<ReturnType<ReaderSession["step"]>>,
  ids: readonly number[],
): number {
  const gate = copy!.gate.data[0]!;
  const copied = ids.reduce((sum, id, j) => sum + (id === token ? copy!.attention.data[j]! : 0), 0);
  const own = logits.data as Float32Array;
  const sum = own.reduce((total, logit) => total + Math.exp(logit), 0);
  const written = Math.exp(own[token]!) / sum;
  return (1 - gate + COPY_EPSILON) * written + (gate + COPY_EPSILON) * (copied + COPY_EPSILON);
}

async function openSessions() {
  const config = await readConfig(MODEL);
  const weights = await loadWeights(MODEL, config);
  const encoder = await openRetrieverSession(config, { weights });
  const reader = await openReaderSession(config, { weights });
  return {
    ...{ config, encoder, reader },
    async [Symbol.asyncDispose]() {
      await Promise.all([encoder, reader].map((session) => session[Symbol.asyncDispose]()));
    },
  };
}

test("answers, probabilities and posteriors are those of a double loop", async () => {
  await using model = await ReAtt.load(MODEL);
  await using sessions = await openSessions();
  const all = [...PASSAGES, NULL];
  for (const question of QUESTIONS) {
    const maxAnswerTokens = 6;
    const options = { reader: "marginal", maxAnswerTokens } as const;
    const reply = await model.read(question, PASSAGES, options);
    const ranked = await model.rerank(question, all, { explain: true });
    const scoreOf = new Map(ranked.map(({ id, scores }) => [id, scores!.similarity]));
    const priors = softmax(all.map(({ id }) => model.config.retrievalScale * scoreOf.get(id)!));
    const alone = [];
    for (const passage of all)
      alone.push(await model.read(question, [passage], { maxAnswerTokens }));
    const asked = readingQuestionIds(retrievalQuestionIds(model.tokenizer, question));
    let best = { tokenIds: [] as readonly number[], sum: 0, joint: [] as number[] };
    for (const { tokenIds } of alone) {
      const joint = [];
      for (const [z, passage] of all.entries()) {
        const ids = passageIds(model.tokenizer, passage, 512);
        const tokens = { question: asked, passage: ids };
        joint.push(priors[z]! * Math.exp(await likelihoodAlone(sessions, tokens, tokenIds)));
      }
      const sum = joint.reduce((a, b) => a + b);
      if (sum > best.sum) best = { tokenIds, sum, joint };
    }
    assert.equal(reply.tokenIds, best.tokenIds, question);
    near(reply.confidence, best.sum);
    for (const [z, { id, attention }] of reply.passages.entries())
      near(attention, best.joint[z]! / best.sum, `${question} ${id}`);
  }
});

test("the retrieval utility is the difference of single runs, over all accepted answers", async () => {
  await using model = await ReAtt.load(MODEL);
  await using sessions = await openSessions();
  const { tokenizer } = model;
  const [question] = QUESTIONS as [string];
  const accepted = ["James Watt", "Watt", "James Watt"];
  const asked = readingQuestionIds(retrievalQuestionIds(tokenizer, question));
  const likelihood = async (passage: Passage): Promise<number> => {
    const tokens = { question: asked, passage: passageIds(tokenizer, passage, 512) };
    const each = [];
    for (const answer of new Set(accepted)) {
      const ids = [...tokenizer.encode(answer), tokenizer.eosId];
      each.push(Math.exp(await likelihoodAlone(sessions, tokens, ids)));
    }
    return Math.log(each.reduce((a, b) => a + b));
  };
  const without = await likelihood(NULL);
  const utilities = await model.retrievalUtility(question, accepted, PASSAGES);
  for (const [i, passage] of PASSAGES.entries()) {
    const expected = (await likelihood(passage)) - without;
    assert.ok(Math.abs(utilities[i]! - expected) < 1e-3, `${utilities[i]} ${expected}`);
  }
  assert.equal(await model.retrievalUtility(question, accepted, []), []);
  await rejects(model.retrievalUtility(question, [], PASSAGES), /^answers: expected a list of one/);
  await rejects(model.retrievalUtility(" ", accepted, PASSAGES), /^question: expected a question/);
});

test("evaluate utility and answer --reader marginal print what the library returns", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load(MODEL);
  const directory = join(folder.path, "index");
  await using index = await model.index(PASSAGES, { directory });
  const data = join(folder.path, "data.jsonl");
  const answers = [["Watt"], ["1698", "in 1698"], ["the Alps"]];
  const lines = QUESTIONS.map((question, i) =>
    JSON.stringify({ id: `${i}`, question, answers: answers[i] }),
  );
  await writeFile(data, lines.join("\n"));
  const utilities = [];
  for (const [i, question] of QUESTIONS.entries()) {
    const hits = await model.retrieve(question, index, { topK: 2, hybrid: true });
    utilities.push(await model.retrievalUtility(question, answers[i]!, hits));
  }
  const found = ["--model", MODEL, "--index", directory];
  const shared = [...found, "--top-k", "2"];
  const measured = await runCaptured(["evaluate", "utility", ...shared, "--data", data, "--json"]);
  assert.equal(JSON.parse(measured.stdout), evaluateUtility(utilities), measured.stderr);
  const table = await runCaptured(["evaluate", "utility", ...shared, "--data", data]);
  assert.match(
    table.stdout,
    /^3 questions\nhelped {3}[\d.]+\nutility {2}-?[\d.]+ @1 +-?[\d.]+ @2\n$/,
  );

  const reply = await model.answer(QUESTIONS[0]!, index, { reader: "marginal", readTopK: 2 });
  const ask = [
    "answer",
    ...found,
    "--read-top-k",
    "2",
    "--question",
    QUESTIONS[0]!,
    "--reader",
    "marginal",
  ];
  const json = JSON.parse((await runCaptured([...ask, "--json"])).stdout);
  assert.equal([json.answer, json.confidence], [reply.answer, reply.confidence]);
  assert.match(
    (await runCaptured(ask)).stdout,
    /^.*\n\[James Watt\].*\n.*James Watt \(watt\): \d+ %\n/,
  );
  const wrong = await runCaptured([...ask.slice(0, -1), "both"]);
  assert.match(wrong.stderr, /--reader: expected fusion, marginal, none, got "?both/);
  await writeFile(data, '{"id": "1", "question": "Who?"}');
  const none = await runCaptured(["evaluate", "utility", ...shared, "--data", data]);
  assert.match(none.stderr, /expected "answers" of every question, got none of question "1"/);
});

/** The models differ by the rounding of float32: the retrieval scores are of the order of 100. */
function near(actual: number, expected: number, what = "probability"): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-3 * expected + 1e-6,
    `${what}: ${actual} ${expected}`,
  );
}

test("answer, batches and text as it is chosen; the signals of a calibration are not used", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load(MODEL);
  assert.ok(model.config.calibration, "the model stores one");
  await using index = await model.index(PASSAGES, { directory: join(folder.path, "index") });
  const written = QUESTIONS.map(() => "");
  const options = {
    ...({ reader: "marginal", readTopK: 2, maxAnswerTokens: 12 } as const),
    filter: new Set(["watt", "rhine"]),
    onText: (text: string, question: number) => {
      written[question] += text;
    },
  };
  const replies = [];
  for await (const reply of model.answer(QUESTIONS, index, options)) replies.push(reply);
  for (const [i, reply] of replies.entries()) {
    assert.is(written[i], reply.answer);
    assert.is(reply.signals, undefined);
    assert.equal(reply.passages.map(({ id }) => id).sort(), ["rhine", "watt"]);
    const shares = reply.passages.reduce((sum, { attention }) => sum + attention, 0);
    assert.ok(shares > 0 && shares <= 1 + 1e-9, "the rest is that of the null passage");
    const { onText: _, ...others } = options;
    const alone = await model.answer(QUESTIONS[i]!, index, others);
    assert.equal(alone.answer, reply.answer);
    near(alone.confidence, reply.confidence);
  }
});

test("minimumConfidence counts; a stored threshold does not", async () => {
  await using folder = await temporary();
  const copy = join(folder.path, "model");
  const { blockCalibration } = await readConfig(MODEL);
  const blocks = blockCalibration && { ...blockCalibration, threshold: 1 };
  const fitted = { calibration: calibrationOf(0, {}, 1), blockCalibration: blocks };
  await storeCalibration(MODEL, fitted, copy);
  await using model = await ReAtt.load(copy);
  const [question] = QUESTIONS as [string];
  assert.is((await model.read(question, PASSAGES)).abstained, true);
  const reply = await model.read(question, PASSAGES, { reader: "marginal" });
  assert.equal([reply.abstained, reply.answer], [false, "James Watt"]);
  const minimumConfidence = reply.confidence + 1e-9;
  const silent = await model.read(question, PASSAGES, { reader: "marginal", minimumConfidence });
  assert.equal([silent.abstained, silent.answer], [true, ""]);
  near(silent.confidence, reply.confidence);
});

test("an extractive answer is in a passage; wrong options and no passages are errors", async () => {
  await using model = await ReAtt.load(MODEL);
  const options = { reader: "marginal", extractive: true, maxAnswerTokens: 3 } as const;
  for await (const { passages } of model.read(
    QUESTIONS,
    QUESTIONS.map(() => PASSAGES),
    options,
  ))
    assert.ok(passages.some(({ span }) => span !== undefined));
  await rejects(
    model.read("Who?", [], options),
    /^passages of question "Who\?": expected at least/,
  );
  await rejects(
    model.read("Who?", PASSAGES, { reader: "both" as "fusion" }),
    /^reader: expected fusion, marginal, got/,
  );
  const signal = AbortSignal.abort(new Error("stopped"));
  await rejects(model.read("Who?", PASSAGES, { ...options, signal }), /^stopped$/);
});

test.run();
