import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { answerable } from "../../../src/training/examples/answerable.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { LabelFreeExample } from "../../../src/training/examples/sources/example.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

const MODEL = "models/reatt-mini";
const PASSAGE = {
  id: "watt",
  title: "James Watt",
  text: "James Watt patented a steam engine in 1769. He was born in Greenock in Scotland.",
};
const ask = (id: string, question: string, answer: string): LabelFreeExample => ({
  ...{ id, question, answer },
  ...{ relevant: ["watt"], removal: {} },
});
const EXAMPLES = [
  ask("right", "Who patented a steam engine?", "James Watt"),
  ask("wrong", "Who patented a steam engine?", "Scotland"),
  ask("born", "In what town was James Watt born?", "Greenock"),
];

const message = async (run: Promise<unknown>): Promise<string> => {
  const error = await run.then(
    () => assert.unreachable("was not refused"),
    (thrown) => thrown,
  );
  assert.instance(error, InputError);
  assert.not.match(error.message, "\n");
  return error.message;
};

test("questions stay that the model answers with their phrase; a resumed run reads the file", async () => {
  await using folder = temporaryFolder();
  const out = folder.path;
  const corpus = writeLines(join(out, "corpus.jsonl"), [PASSAGE]);
  await using opened = await openCorpus(corpus);
  const keep = (examples: readonly LabelFreeExample[], resume = false, model = MODEL) => {
    const options = withDefaults({ ...{ model, data: "unused", corpus, out }, resume });
    return finish(answerable(options, opened, examples));
  };
  const kept = await keep(EXAMPLES);
  await using model = await ReAtt.load(MODEL);
  const answers = await Promise.all(
    EXAMPLES.map(async ({ question }) => (await model.read(question, [PASSAGE])).answer),
  );
  assert.equal(
    kept.map(({ id }) => id),
    EXAMPLES.filter(({ answer }, i) => answer === answers[i]).map(({ id }) => id),
  );
  assert.ok(kept.length > 0 && !kept.some(({ id }) => id === "wrong"));

  assert.equal(await keep(EXAMPLES, true, "no such model"), kept);
  assert.match(await message(keep(EXAMPLES.slice(1), true)), /got those of others/);
  const file = join(out, "generated-questions.json");
  writeFileSync(file, readFileSync(file, "utf8").slice(0, -20));
  assert.match(await message(keep(EXAMPLES, true)), /got something else/);
  assert.match(await message(keep([EXAMPLES[1]!])), /^generated: .* got none of 1/);
});

test.run();
