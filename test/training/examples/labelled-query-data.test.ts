import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import { examplesOfStep } from "../../../src/training/examples/example-source.ts";
import { labelledQueryData } from "../../../src/training/examples/labelled-query-data.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import { finish, PASSAGES } from "../../support/adaptation.ts";
import { TOKENIZER, temporaryFolder, writeLines } from "../../support/training.ts";

const queries = [
  {
    id: "q0",
    question: "trains to Oslo",
    relevant: [
      { passageId: "p0", label: 2 },
      { passageId: "p7", label: 1 },
    ],
  },
  { id: "q1", question: "trains to Rome", relevant: [{ passageId: "p2", label: 1 }] },
];

test("a relevant passage is drawn at each step, is a candidate, and is the target after its label", async () => {
  await using folder = temporaryFolder();
  const corpus = writeLines(join(folder.path, "corpus.jsonl"), PASSAGES);
  const options = withDefaults({
    model: "unused",
    data: "unused",
    corpus,
    out: folder.path,
    candidatesPerQuestion: 3,
  });
  await using opened = await openCorpus(corpus);
  const data = labelledQueryData(options, opened, queries);
  const source = await finish(data.examples(0, undefined));
  assert.is(source.size, 2);
  const drawn = new Set<string>();
  for (let step = 0; step < 20; step++) {
    const example = source.example(0, step);
    const { question, answer, passages, relevant } = example;
    assert.is(question, "trains to Oslo");
    assert.is(passages.length, 3);
    const [, label, text] = /^relevance: (\d)\. (.*)$/.exec(answer)!;
    const target = passages.find((passage) => passage.text === text)!;
    assert.is(label, target.id === "p0" ? "2" : "1");
    drawn.add(target.id);
    assert.equal(relevant, ["p0", "p7"], "all labelled passages, whichever is drawn");
    assert.equal(source.example(0, step), example, "the same when it is asked again");
  }
  assert.equal([...drawn].sort(), ["p0", "p7"]);

  const tokenizer = await loadTokenizer(TOKENIZER);
  const limits = { seed: "0", step: 0, questions: 2, maxPassageTokens: 64, maxAnswerTokens: 9 };
  for (const { answer } of examplesOfStep(source, tokenizer, limits)) {
    assert.is(answer.length, 9);
    assert.not.ok(answer.includes(tokenizer.eosId), "what was cut has no end");
  }
});

test("an iteration of fewer examples than queries reads some of them, each with its own passages", async () => {
  await using folder = temporaryFolder();
  const corpus = writeLines(join(folder.path, "corpus.jsonl"), PASSAGES);
  const options = withDefaults({
    model: "unused",
    data: "unused",
    corpus,
    out: folder.path,
    candidatesPerQuestion: 3,
    steps: 1,
    questions: 1,
  });
  await using opened = await openCorpus(corpus);
  const data = labelledQueryData(options, opened, queries);
  for (const iteration of [0, 1, 2, 3]) {
    const source = await finish(data.examples(iteration, undefined));
    assert.is(source.size, 1);
    const { question, passages } = source.example(0, 0);
    const { relevant: labels } = queries.find((query) => query.question === question)!;
    assert.ok(labels.some(({ passageId }) => passages.some(({ id }) => id === passageId)));
  }
});

test.run();
