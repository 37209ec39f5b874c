/** What questions are read with. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { withDefaults } from "../../../src/training/run/options.ts";
import { surveyCorpus } from "../../../src/training/tasks/corpus.ts";
import { readTrainingFile } from "../../../src/training/tasks/data.ts";
import { questionTask } from "../../../src/training/tasks/question-task.ts";
import type { TextExample } from "../../../src/training/tasks/source.ts";
import { finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { temporaryFolder } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);

async function examplesOf(objective: "distillation" | "marginal"): Promise<TextExample[]> {
  const out = join(folder.path, objective);
  mkdirSync(out);
  const options = withDefaults({ model: "unused", corpus, out, closePassages: 3, objective });
  const task = questionTask(options, await surveyCorpus(corpus), await readTrainingFile(data));
  const source = await finish(task.prepare(0, undefined));
  return Array.from({ length: source.size }, (_, i) => source.example(i, 0));
}

test("each question is read with its own passage and those close to it", async () => {
  for (const { question, passages, relevant } of await examplesOf("distillation")) {
    assert.is(new Set(passages.map(({ id }) => id)).size, 3);
    const own = passages.findIndex(({ title }) => question.includes(title) && title !== "");
    assert.is(relevant, own);
  }
});

test("with the objective marginal, one of its passages is the null passage", async () => {
  for (const { question, passages } of await examplesOf("marginal")) {
    assert.is(passages.length, 3);
    assert.equal(passages[2], { id: "", title: "", text: "" });
    assert.ok(passages.slice(0, 2).every(({ text }) => text !== ""));
    assert.ok(passages.slice(0, 2).some(({ title }) => question.includes(title)));
  }
});

test.run();
