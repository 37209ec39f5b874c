/** What is wrong with the files and options of a training run is said in one line. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { temporaryFolder, writeLines, writeSmallRun } from "../../../support/training.ts";
import { runCaptured } from "../../support.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { model, corpus, data, out } = await writeSmallRun(folder.path);
const question = { question: "Where is it?", answers: ["there"] };
const lines = (name: string, ...records: unknown[]): string =>
  writeLines(join(folder.path, name), records);

const WRONG: Readonly<Record<string, [args: readonly string[], code: number, message: RegExp]>> = {
  "more close passages than the corpus has": [
    ["--candidates-per-question", "11"],
    1,
    /candidates: expected a corpus of at least 11 passages, got 10;/,
  ],
  "no passage beside the null passage": [
    ["--objective", "marginal", "--candidates-per-question", "1"],
    1,
    /--candidates-per-question: expected 2 or more, one of them the null passage, got 1;/,
  ],
  "a passage_id that is not in the corpus": [
    ["--data", lines("unknown.jsonl", { ...question, passage_id: "none" })],
    1,
    /unknown\.jsonl, question '1': expected its passage_id to be in the corpus, got 'none', one of 1 of 1/,
  ],
  "a passage_id of dev that is not in the corpus": [
    ["--dev", lines("unknown-dev.jsonl", { ...question, passage_id: "none" })],
    1,
    /unknown-dev\.jsonl, question '1': expected its passage_id to be in the corpus, got 'none'/,
  ],
  "a question without answers": [
    ["--data", lines("mute.jsonl", question, { question: "Why?" })],
    1,
    /mute\.jsonl:2: expected "answers" or .*, got "question";/,
  ],
  "an empty list of answers": [
    ["--data", lines("empty.jsonl", { ...question, answers: [] })],
    1,
    /empty\.jsonl:1: expected "answers" or .*, got "question", "answers";/,
  ],
  "no data": [
    ["--data", join(folder.path, "none.jsonl")],
    1,
    /none\.jsonl: expected .*no such file/,
  ],
  "no corpus": [
    ["--corpus", join(folder.path, "none.jsonl")],
    1,
    /none\.jsonl: expected .*no such file/,
  ],
  "no model": [
    ["--model", join(folder.path, "none")],
    1,
    /none\/config\.json: expected a JSON object/,
  ],
  "no steps": [["--steps", "0"], 2, /--steps: expected a whole number from 1 on, got "0"/],
  "an objective that there is not": [
    ["--objective", "rank"],
    2,
    /--objective: expected distillation, supervised, likelihood, marginal, qa, retrieval/,
  ],
};

for (const [title, [args, code, message]] of Object.entries(WRONG))
  test(`${title}: one line`, async () => {
    const files = { "--model": model, "--corpus": corpus, "--data": data, "--out": out };
    const others = Object.entries(files).filter(([flag]) => !args.includes(flag));
    const given = [...others.flat(), "--json", ...args];
    const { code: actual, stderr } = await runCaptured(["train", ...given]);
    rmSync(out, { recursive: true, force: true });
    assert.match(stderr, message);
    assert.match(stderr, /^reatt: [^\n]*\n$/);
    assert.is(actual, code);
  });

test("train of the query side: an index of the first model remains valid", async () => {
  const small = ["--steps", "1", "--questions", "2", "--candidates-per-question", "2"];
  const settings = join(folder.path, "options.json");
  writeFileSync(settings, JSON.stringify({ maxAnswerTokens: 8, holdOut: false }));
  for (const part of [
    ["--train", "query"],
    ["--train", "query", "--layers", "1"],
  ]) {
    const trained = join(folder.path, part.join(" "));
    const given = ["--model", model, "--corpus", corpus, "--data", data, "--out", trained];
    const options = [...small, ...part, "--options", settings];
    const { code, stderr, stdout } = await runCaptured(["train", ...given, ...options]);
    assert.is(code, 0, stderr);
    assert.match(stdout, `Finished after step 1: ${trained}\n`);
    await using before = await ReAtt.load(model);
    await using after = await ReAtt.load(trained);
    assert.is(after.fingerprint, before.fingerprint);
    assert.is(after.config.queryEncoder === true, part.includes("--layers"));
  }
});

test.run();
