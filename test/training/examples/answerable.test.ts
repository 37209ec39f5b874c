import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../src/reatt.ts";
import { answerable } from "../../../src/training/examples/answerable.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { Example } from "../../../src/training/examples/example.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

const MODEL = "models/reatt-mini";
const PASSAGE = {
  id: "watt",
  title: "James Watt",
  text: "James Watt patented a steam engine in 1769. He was born in Greenock in Scotland.",
};
const ask = (id: string, question: string, answer: string): Example => ({
  ...{ id, question, answers: [answer], relevant: ["watt"] },
});
const EXAMPLES = [
  ask("right", "Who patented a steam engine?", "James Watt"),
  ask("wrong", "Who patented a steam engine?", "Scotland"),
  ask("born", "In what town was James Watt born?", "Greenock"),
];

test("questions stay that the model answers with their phrase", async () => {
  await using folder = temporaryFolder();
  await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), [PASSAGE]));
  const keep = (examples: readonly Example[]) =>
    finish(answerable({ model: MODEL, maxPassageTokens: 512 }, corpus, examples));
  const kept = await keep(EXAMPLES);
  await using model = await ReAtt.load(MODEL);
  const answers = await Promise.all(
    EXAMPLES.map(async ({ question }) => (await model.read(question, [PASSAGE])).answer),
  );
  assert.equal(
    kept.map(({ id }) => id),
    EXAMPLES.filter((example, i) => example.answers[0] === answers[i]).map(({ id }) => id),
  );
  assert.ok(kept.length > 0 && !kept.some(({ id }) => id === "wrong"));
  await refused(keep([EXAMPLES[1]!]), /^generated: .* got none of 1/);
});

test.run();
