/** `reatt adapt`: each job from its command line to a model and an index that can be used. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { PASSAGES, writeAdaptationFiles } from "../../../support/adaptation.ts";
import { writeTinyModel } from "../../../support/training.ts";
import { runCaptured } from "../../support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-adapt-cli-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);
const { corpus, data, queries, qrels } = writeAdaptationFiles(folder);
mkdirSync(at("model"));
await writeTinyModel(at("model"));

const SMALL = ["--steps", "2", "--questions", "2", "--candidates-per-question", "2"];
/** @param options of the library, for the file of options */
const adapt = (out: string, args: readonly string[] = [], options: object = {}) => {
  const file = at(`${out}.json`);
  writeFileSync(file, JSON.stringify({ monitorSteps: 2, ...options }));
  return runCaptured([
    ...["adapt", "--model", at("model"), "--corpus", corpus, "--out", at(out), ...SMALL],
    ...["--options", file, ...args],
  ]);
};

const JOBS: Readonly<Record<string, readonly [args: string[], options?: object]>> = {
  spans: [[]],
  "spans, with marginal": [["--objective", "marginal"]],
  "crops and titles": [["--sources", "crops,titles"], { weights: { titles: 2 } }],
  questions: [["--data", data]],
  "questions, with the options of train": [
    ["--data", data, "--dev", data],
    { objective: "supervised", devQuestions: 1, inBatchNegatives: false, tau: 0.1, qaSteps: 1 },
  ],
  labels: [["--queries", queries, "--qrels", qrels]],
  mixture: [
    ["--data", data, "--queries", queries, "--qrels", qrels],
    { weights: { questions: 3, labels: 1 } },
  ],
};

for (const [job, [args, options]] of Object.entries(JOBS)) {
  test(`${job}: a model, its card and its index`, async () => {
    const { code, stdout, stderr } = await adapt(job, args, options);
    assert.is(code, 0, stderr);
    assert.match(
      stdout,
      `Finished after step 2: ${at(job)}\nReport: ${at(`${job}.run`, "report.html")}\nIndex: ${at(`${job}.run`, "index")}`,
    );
    assert.match(stderr, /Plan: .* to a corpus of 12 passages/);
    assert.match(stderr, /1 x 2 steps of 2 questions with 2 passages each/);
    await using model = await ReAtt.load(at(job));
    await using index = await model.openIndex(at(`${job}.run`, "index"));
    assert.is(index.passageCount, PASSAGES.length);
    assert.is(
      (await model.answer("who opened the harbour of Oslo?", index, { topK: 2 })).passages.length,
      2,
    );
    const card = readFileSync(at(job, "README.md"), "utf8");
    assert.match(card, "| base | model |");
    assert.match(card, /\| seed \| 0 \|/);
    assert.match(card, /SHA-256 [0-9a-f]{64}/);
  });
}

test("a folder of documents: what is skipped is said, and long records are indexed whole", async () => {
  mkdirSync(at("docs"));
  for (const [i, { text }] of PASSAGES.entries()) writeFileSync(at("docs", `${i}.txt`), text);
  writeFileSync(at("docs", "broken.json"), "{");
  const adaptTo = (given: string, out: string, ...args: string[]) => {
    const files = ["--model", at("model"), "--corpus", given, "--out", at(out)];
    return runCaptured(["adapt", ...files, ...SMALL, "--sources", "crops", ...args]);
  };
  const { code, stderr } = await adaptTo(at("docs"), "folder");
  assert.is(code, 0, stderr);
  assert.match(stderr, /reading documents …/);
  assert.match(stderr, /skipped .*broken\.json: expected JSON/);
  assert.match(stderr, /Plan: .* to a corpus of 12 passages/);

  const long = at("long.jsonl");
  const record = JSON.stringify({ id: "long", text: "Many people went to Oslo. ".repeat(300) });
  writeFileSync(long, `${readFileSync(corpus, "utf8")}${record}\n`);
  const whole = await adaptTo(long, "whole");
  assert.is(whole.code, 0, whole.stderr);
  assert.not.match(whole.stderr, /warning/);
  const split = await adaptTo(long, "split", "--split-records", "--passage-words", "50");
  assert.is(split.code, 0, split.stderr);
  assert.not.match(split.stderr, /warning/);
});

test("the end is a verdict, and --out with --resume is a whole command", async () => {
  const { stdout } = await adapt("said", ["--data", data, "--dev", data]);
  assert.match(
    stdout,
    /\nVerdict: (?:gain(?: in hybrid search)?: R@1 \d+ → \d+|no clear gain: R@1 \d+ → \d+|no gain, model unchanged: R@1 \d+) of 12 held-out examples/,
  );
  assert.not.ok(existsSync(at("said.run", "checkpoint")));
  const again = await runCaptured(["adapt", "--out", at("said"), "--resume"]);
  assert.equal([again.code, again.stdout], [0, stdout]);
  const missing = await runCaptured(["adapt", "--out", at("nothing"), "--resume"]);
  assert.is(missing.code, 1);
  assert.match(
    missing.stderr,
    /^reatt: corpus: expected a path as text, got nothing; add it: out has/,
  );
});

test("--dry-run shows the plan and samples, and writes nothing", async () => {
  const { code, stdout, stderr } = await adapt("dry", ["--dry-run"]);
  assert.is(code, 0, stderr);
  assert.match(stderr, /takes about \d+:\d\d .* [\d.]+ GB of memory, [\d.]+ MB of disk/);
  assert.match(stdout, /^spans p\d+:\d+-\d+\n {2}question {2}.*____.*\n {2}answer {4}\w+/);
  assert.not.ok(existsSync(at("dry")));
});

test("--json: an event a line, the result last", async () => {
  const { stdout } = await adapt("json", ["--dry-run", "--json"]);
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(
    events.map(({ type }) => type),
    ["stage", "plan", "result"],
  );
  assert.equal(events[1].plan, events[2].plan);
});

test("bad weights in the file of options are one line", async () => {
  const wrong = await adapt("wrong", [], { weights: { spans: "2" } });
  assert.equal([wrong.code, wrong.stdout], [1, ""]);
  assert.match(wrong.stderr, /^reatt: \S+wrong\.json, weights\.spans: expected a number[^\n]*\n$/);
  const unknown = await adapt("wrong", ["--json"], { weights: { labels: 2 } });
  assert.is(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /^reatt: weights: expected spans, crops, titles, got "labels"[^\n]*\n$/,
  );
  assert.not.ok(existsSync(at("wrong")));
});

test.run();
