import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../../src/model/config.ts";
import { type TokenLengths, type Work, workOf } from "../../../src/training/adaptation/work.ts";
import type { TrainedChoice } from "../../../src/training/options/trained.ts";
import { BACKBONE, TINY_MODELS, tinyConfig, withChanges } from "../../support/tiny-model.ts";
import { trainedBy } from "../../support/training-step.ts";

interface Sizes extends Omit<Partial<TrainedChoice>, "objective"> {
  readonly objective: TrainedChoice["objective"];
  readonly questions: number;
  readonly candidatesPerQuestion: number;
}

function work(
  config: ModelConfig,
  { questions, candidatesPerQuestion, ...choice }: Sizes,
  lengths: TokenLengths,
): Work {
  const { part = choice.objective === "retrieval" ? "retrieval" : "all", objective } = choice;
  const run = {
    ...{ config, part, trained: trainedBy(config, choice) },
    objective: { objective },
    batch: { questions, candidatesPerQuestion },
  };
  return workOf(run, lengths);
}

test("the work of indexing a passage, by hand", () => {
  const block = 4 * 16 * 18 + 3 * 16 * 24 + 2 * 16; // attention, feed-forward, norms
  const lengths = { passage: 10, question: 5, answer: 2 };
  const { passage, parameters } = work(
    tinyConfig(),
    { questions: 1, candidatesPerQuestion: 1, objective: "supervised" },
    lengths,
  );
  assert.is(passage, 10 * (2 * block + 4 * 10 * 18));
  const decoderBlock = block + 4 * 16 * 18 + 16;
  assert.is(parameters, 2 * block + 2 * decoderBlock + 2 * 40 * 16 + 2 * 16);
});

test("a step grows with its pairs, and less than twice with passages twice as many", () => {
  const lengths = { passage: 100, question: 20, answer: 8 };
  const step = (questions: number, candidatesPerQuestion: number): number =>
    work(tinyConfig(), { questions, candidatesPerQuestion, objective: "supervised" }, lengths).step;
  assert.is(step(8, 4), 8 * step(1, 4));
  assert.ok(step(4, 8) > step(4, 4) && step(4, 8) < 2 * step(4, 4));
});

test("a step of the query side alone has less than half the work, and a query encoder its weights", () => {
  const lengths = { passage: 100, question: 20, answer: 8 };
  const sizes = { questions: 8, candidatesPerQuestion: 4, objective: "supervised" } as const;
  const all = work(tinyConfig(), sizes, lengths);
  const config = tinyConfig({ queryEncoder: true });
  const asking = work(config, { ...sizes, part: "query", layers: 1 }, lengths);
  assert.ok(asking.step < all.step / 2 && asking.step > all.step / 4);
  assert.is(asking.passage, all.passage);
  const block = 4 * 16 * 18 + 3 * 16 * 24 + 2 * 16;
  assert.is(asking.parameters - all.parameters, block + 16 * 18 + 16);
});

test("a step of the retrieval head alone encodes its texts once", () => {
  const lengths = { passage: 100, question: 20, answer: 8 };
  const sizes = { questions: 8, candidatesPerQuestion: 4, objective: "retrieval" } as const;
  const all = work(tinyConfig(), sizes, lengths);
  const head = work(tinyConfig(), { ...sizes, part: "head" }, lengths);
  assert.is(all.step, 3 * head.step); // forward and backward
  assert.ok(head.step > 8 * 4 * head.passage); // and the questions
});

test("a step of more than one chunk encodes its texts twice", () => {
  const lengths = { passage: 100, question: 20, answer: 8 };
  const step = (questions: number): number =>
    work(tinyConfig(), { questions, candidatesPerQuestion: 2, objective: "retrieval" }, lengths)
      .step;
  assert.is(step(64), 2 * step(32));
  assert.is(step(128) / 128, ((4 / 3) * step(64)) / 64); // one forward pass beside three
});

test("a step of retrieval has no backward pass of the layers that reading shares", () => {
  const lengths = { passage: 100, question: 20, answer: 8 };
  const sizes = { questions: 8, candidatesPerQuestion: 4, objective: "retrieval" } as const;
  const joint = TINY_MODELS["joint layers"]!; // two layers of three are retrieval's own
  const { step } = work(joint, sizes, lengths);
  const all = work(
    withChanges(joint, { backbone: { ...BACKBONE, layers: 3, jointLayers: 0 } }),
    sizes,
    lengths,
  );
  assert.ok(Math.abs(step / all.step - (2 * 3 + 1) / (3 * 3)) < 1e-9);
});

test.run();
