/** Token ids compared with the authors' release; cuts to small sizes worked by hand. */

import { existsSync, readFileSync } from "node:fs";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import {
  cutForReading,
  fittingQuestion,
  MAX_QUESTION_TOKENS,
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const tokenizer = await loadTokenizer("test/fixtures/t5/spiece.model");

interface Expected {
  max_length: number;
  documents: { id: string; token_ids: number[] }[];
  queries: {
    text: string;
    token_ids: number[];
    read_doc_ids: string[];
    reader_input_ids: number[][] | null;
  }[];
}

for (const model of ["reatt-v11", "reatt-v10-tied"]) {
  const folder = `../shared/reference/${model}`;
  const check = existsSync(folder) ? test : test.skip;
  check(`the ids of ${model} are the release's`, async () => {
    const expected: Expected = JSON.parse(readFileSync(`${folder}/expected.json`, "utf8"));
    const passages = new Map<string, number[]>();
    for await (const passage of readPassages(`${folder}/corpus.jsonl`)) {
      passages.set(passage.id, passageIds(tokenizer, passage, expected.max_length));
    }
    for (const { id, token_ids } of expected.documents) assert.equal(passages.get(id), token_ids);
    for (const query of expected.queries) {
      const retrieval = retrievalQuestionIds(tokenizer, query.text);
      assert.equal(retrieval, query.token_ids);
      // Only the first questions' inputs were written down.
      for (const [rank, readerIds] of (query.reader_input_ids ?? []).entries()) {
        const cut = cutForReading(
          readingQuestionIds(retrieval),
          passages.get(query.read_doc_ids[rank]!)!,
          expected.max_length,
        );
        const ids = [...cut.question, ...cut.passage];
        const padding = new Array<number>(expected.max_length - ids.length).fill(0);
        assert.equal([...ids, ...padding], readerIds);
      }
    }
  });
}

test("a passage is cut with </s> at its end", () => {
  const passage = { title: "Dogs", text: "They bark at night and sleep by day." };
  const whole = passageIds(tokenizer, passage, 100);
  assert.is(whole.at(-1), 1);
  assert.equal(passageIds(tokenizer, passage, whole.length), whole);
  assert.equal(passageIds(tokenizer, passage, 5), [...whole.slice(0, 4), 1]);
});

test("question and passage share the given length", () => {
  const question = [11, 12, 13, 14, 15, 16];
  const passage = [21, 22, 23, 24, 1];
  assert.equal(cutForReading(question, passage, 11), { question, passage });
  assert.equal(cutForReading(question, passage, 9), { question, passage: [21, 22, 1] });
  assert.equal(cutForReading(question, passage, 7), {
    question: [11, 12, 13, 14],
    passage: [21, 22, 1],
  });
  assert.equal(cutForReading(question, passage, 4), { question: [11], passage: [21, 22, 1] });
  assert.throws(
    () => cutForReading(question, passage, 3),
    (error: unknown) => error instanceof InputError,
  );
});

test("a question that is empty or too long is rejected", () => {
  for (const question of ["", " \n", "\u200b", "why ".repeat(MAX_QUESTION_TOKENS)]) {
    assert.throws(
      () => retrievalQuestionIds(tokenizer, question),
      (error: unknown) => error instanceof InputError,
    );
  }
});

test("a question that is too long has as many words as fit", () => {
  const words = Array.from({ length: 600 }, (_, i) => `word${i}`).join(" ");
  for (const question of [words, `${words}\n`, "x".repeat(5_000), `a ${"é".repeat(4_000)}`]) {
    const fitting = fittingQuestion(tokenizer, question);
    assert.ok(question.startsWith(fitting) && fitting.length < question.length);
    assert.ok(retrievalQuestionIds(tokenizer, fitting).length <= MAX_QUESTION_TOKENS);
  }
  const most = fittingQuestion(tokenizer, words);
  const one = words.slice(0, words.indexOf(" ", most.length + 1));
  assert.throws(() => retrievalQuestionIds(tokenizer, one), "one word more does not fit");
  assert.is(fittingQuestion(tokenizer, "Who?"), "Who?");
});

test.run();
