/**
 * A model with random weights learns retrieval from answers alone.
 *
 * The world is that of small-world.ts. A question is a name. Its answer is the word of one of its
 * passages, and the model reads that passage together with a passage of another name. Neither
 * passage is labelled: the decoder's attention shows which one helps, and teaches retrieval.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../../src/math/random.ts";
import { hitLists } from "../../../src/reatt/retrieving.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { smallWorld, VOCABULARY } from "../../support/small-world.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "../../support/training.ts";

/** The share of names for which the first passage found is about them. */
async function recallAt1(model: string, corpus: string, names: readonly string[]): Promise<number> {
  await using reatt = await ReAtt.load(model);
  await using index = await reatt.index(readPassages(corpus), { directory: `${model}/index` });
  const found = await hitLists(reatt.retrieve(names, index, { topK: 1, hybrid: false }));
  return found.filter(([first], i) => first!.title === names[i]).length / names.length;
}

test("a random model of 2 + 2 layers comes to find the right passage first", async () => {
  await using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  mkdirSync(at("model"));
  await writeTinyModel(at("model"), {
    ...{
      weights: false,
      vocabularySize: VOCABULARY,
      encoderLayers: 2,
      retrievalLayer: 1,
      decoderLayers: 2,
    },
    ...{
      modelSize: 32,
      heads: 2,
      headSize: 32,
      feedForwardSize: 64,
      dropoutRate: 0,
      retrievalHead: 0,
    },
    ...{ relativeBuckets: 32, relativeMaxDistance: 128, retrievalScale: 4 },
  });
  const { names, passages } = await smallWorld();
  const random = createRandom("contexts");
  const questions = passages.map(({ id, title, text }) => {
    const others = passages.filter((other) => other.title !== title && other.text !== text);
    const read = random.shuffle([id, others[random.integer(others.length)]!.id]);
    return { id, question: title, answers: [text], ctxs: read.map((id) => ({ id })) };
  });
  const corpus = writeLines(at("corpus.jsonl"), passages);
  const options = {
    ...{
      model: at("model"),
      corpus,
      data: writeLines(at("train.jsonl"), questions),
      out: at("out"),
    },
    ...{
      questions: 64,
      candidatesPerQuestion: 2,
      alpha: 1,
      learningRate: 0.003,
      seed: 1,
    },
  };
  await finish(train({ ...options, out: at("untrained"), steps: 1, learningRate: 0 }));
  assert.ok((await recallAt1(at("untrained"), corpus, names)) < 0.3);
  await finish(train({ ...options, steps: 400 }));
  // One of twelve may be wrong: the random start is drawn by the names of the parameters.
  assert.ok((await recallAt1(at("out"), corpus, names)) > 0.9);
});

test.run();
