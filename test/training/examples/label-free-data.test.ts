import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passage } from "../../../src/text/passage.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { TextExample } from "../../../src/training/examples/example-source.ts";
import { labelFreeData } from "../../../src/training/examples/label-free-data.ts";
import { crops } from "../../../src/training/examples/sources/crops.ts";
import type { LabelFreeExample } from "../../../src/training/examples/sources/example.ts";
import { titles } from "../../../src/training/examples/sources/titles.ts";
import { type RunOptions, withDefaults } from "../../../src/training/options/train-options.ts";
import { finish, PASSAGES } from "../../support/adaptation.ts";
import { ALL, listOf, passagesOf } from "../../support/sources.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

/** The training examples of an iteration. */
async function trained(
  passages: readonly Passage[],
  examples: readonly LabelFreeExample[],
  changes: Partial<RunOptions> = {},
): Promise<TextExample[]> {
  await using folder = temporaryFolder();
  const corpus = writeLines(join(folder.path, "corpus.jsonl"), passages);
  const options = withDefaults({
    ...{ model: "unused", data: "unused", corpus, out: folder.path, candidatesPerQuestion: 3 },
    ...changes,
  });
  await using opened = await openCorpus(corpus);
  const data = labelFreeData(options, opened, "crops", examples);
  const source = await finish(data.examples(0, undefined));
  return Array.from({ length: source.size }, (_, i) => source.example(i, 0));
}

test("a crop trains retrieval alone; its passage is a candidate without the sentence", async () => {
  const found = await listOf(crops(passagesOf(PASSAGES), ALL));
  const examples = await trained(PASSAGES, found);
  assert.is(examples.length, 2 * PASSAGES.length);
  let cut = 0;
  for (const { question, passages, relevant, retrievalOnly } of examples) {
    assert.equal([passages.length, relevant.length, retrievalOnly], [3, 1, true]);
    const own = passages.find(({ id }) => id === relevant[0])!;
    if (!own.text.includes(question)) cut++;
  }
  assert.ok(cut > examples.length / 2);
});

test("the candidates of a title are read without titles", async () => {
  const examples = await trained(PASSAGES, await listOf(titles(passagesOf(PASSAGES), ALL)));
  assert.is(examples.length, PASSAGES.length);
  for (const { passages } of examples) assert.ok(passages.every(({ title }) => title === ""));
});

const SENTENCE = "At night the barn owl hunts by ear in the fields.";
const OWLS: readonly Passage[] = [
  { id: "source", title: "", text: `${SENTENCE} It returns before the sun is up again.` },
  { id: "other", title: "", text: "A barn owl was seen by many people on that old farm." },
  { id: "copy", title: "", text: SENTENCE },
  { id: "fox", title: "", text: "At night foxes hunt by ear in the fields and in the woods." },
];
const MASKED: LabelFreeExample = {
  id: "source:0-49",
  question: SENTENCE.replace("barn owl", "<extra_id_0>"),
  answer: "barn owl",
  evidence: "barn owl",
  relevant: ["other"],
  removal: { copies: { sentence: SENTENCE, entity: "barn owl" } },
};

test("a masked phrase is generated from the other passages that contain it", async () => {
  const [example, ...rest] = await trained(OWLS, [MASKED]);
  assert.equal(rest, []);
  const { answer, answers, passages, relevant, retrievalOnly } = example!;
  assert.equal([answer, answers, retrievalOnly], ["barn owl", ["barn owl"], false]);
  assert.equal(passages.map(({ id }) => id).sort(), ["fox", "other", "source"]);
  assert.equal(relevant, ["other"]);
  assert.not.ok(passages.some(({ text }) => text.includes(SENTENCE)));
});

test("an example without a passage that helps is left out", async () => {
  const passages = OWLS.filter(({ id }) => id !== "other");
  const useless = { ...MASKED, relevant: [] };
  const error = await trained(passages, [useless]).catch((thrown: Error) => thrown);
  assert.match(
    (error as Error).message,
    /^crops: expected an example with a passage that helps, got none in 1 examples/,
  );
});

test("a huge document is read from its beginning", async () => {
  const rest = "and then it went on and on without end ".repeat(50_000);
  const passages = [...OWLS, { id: "huge", title: "", text: `The barn owl hunts here ${rest}` }];
  const example = { ...MASKED, relevant: ["huge"] };
  const [made] = await trained(passages, [example], { maxPassageTokens: 32 });
  assert.ok(made!.passages.every(({ text }) => text.length <= 32 * 6));
});

test("a null passage takes the last place", async () => {
  const [example] = await trained(OWLS, [MASKED], { nullPassage: true });
  assert.equal(
    example!.passages.map(({ id }) => id),
    [example!.passages[0]!.id, example!.passages[1]!.id, ""],
  );
});

test.run();
