import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { passageIds, retrievalQuestionIds } from "../../../src/text/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { correlation, rankHeads } from "../../../src/training/run/rank-heads.ts";
import { assertNear } from "../../support/arrays.ts";
import { naiveT5 } from "../../support/naive-t5.ts";
import { TOKENIZER, temporaryFolder, writeTinyModel } from "../../support/training.ts";

test("correlation, worked by hand", () => {
  // means 2 and 1/3; products 1/3 + 0 + 2/3, squares 2 and 2/3
  assertNear([correlation([1, 2, 3], [0, 0, 1])], [1 / Math.sqrt(4 / 3)], 1e-12);
  assert.is(correlation([4, 4], [0, 1]), 0);
});

test("each head's scores are those of the model with that head, the best head first", async () => {
  await using folder = temporaryFolder();
  const config = await writeTinyModel(folder.path);
  const weights = await loadWeights(folder.path, config);
  const tokenizer = await loadTokenizer(TOKENIZER);
  const passages = ["red apple", "green pear tree", "a red house", "blue"].map((text, i) => ({
    id: `${i}`,
    title: "",
    text,
  }));
  const question = { question: "Which colour?", answers: ["red"], passages };
  const none = { ...question, answers: ["violet"] }; // tells nothing
  const probes = await rankHeads(folder.path, [question, none]);

  const expected = Array.from({ length: config.heads }, (_, head) => {
    const model = naiveT5({ ...config, retrievalHead: head }, weights);
    const asked = retrievalQuestionIds(tokenizer, question.question);
    const scores = passages.map((passage) => {
      const ids = passageIds(tokenizer, passage, 512);
      const states = model.lower(asked, ids);
      const queries = model.retrieval("q", states.slice(0, asked.length));
      const keys = model.retrieval("k", states.slice(asked.length));
      const best = queries.map((query) =>
        Math.max(...keys.map((key) => key.reduce((sum, x, i) => sum + x * query[i]!, 0))),
      );
      return best.reduce((sum, x) => sum + x, 0) / best.length;
    });
    return correlation(scores, [1, 0, 1, 0]);
  });
  for (const probe of probes)
    assertNear([probe.correlation], [expected[probe.head]!], 1e-4, `head ${probe.head}`);
  const found = probes.map((probe) => probe.correlation);
  assert.equal(
    found,
    found.toSorted((a, b) => b - a),
  );
});

test.run();
