/**
 * The stages of a run: span corruption, then the iterations. Each has its own learning-rate cycle.
 */

import { createRandom, type Random } from "../../math/random.ts";
import { passageIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import { corrupt, noiseSpans } from "../examples/span-corruption.ts";
import { drawIndexes, examplesOfStep, longestFirst, type TextExamples } from "../examples/step.ts";
import type { TokenExample } from "../objectives/examples.ts";
import { objectivesOf } from "../objectives/index.ts";
import type { Objective } from "../objectives/objective.ts";
import type { TrainingEvent } from "./events.ts";
import type { Run } from "./run.ts";

/** Sentinels of T5's vocabulary: `<extra_id_0>` to `<extra_id_99>`. */
const SENTINELS = 100;

export interface Stage {
  /** Steps of the run before this stage. */
  readonly first: number;
  readonly steps: number;
  /** Names the random draws of the stage. */
  readonly seed: string;
  /** The examples of a step, counted from 0 in the stage. */
  examples(step: number): TokenExample[];
  objectives(step: number): readonly Objective[];
}

/**
 * An iteration: questions with their candidates.
 *
 * @param iteration counted from 0
 * @param source called at every step, because a background refresh replaces the examples
 */
export function iterationStage(
  run: Run,
  iteration: number,
  source: () => TextExamples,
  tokenizer: Tokenizer,
): Stage {
  const { unsupervisedSteps, qaSteps, steps } = run.schedule;
  const { objective } = run.objective;
  const [reading, all] = [
    objectivesOf("qa", run.objective),
    objectivesOf(objective, run.objective),
  ];
  const seed = `${run.seed} ${iteration}`;
  // The objectives that read learn phrases from the decoder: no answer has to be found in a text.
  const phraseLoss = objective === "retrieval" ? run.objective.phraseLoss : 0;
  const settings = { ...run.batch, seed, phraseLoss };
  return {
    ...{ first: unsupervisedSteps + iteration * steps, steps, seed },
    examples: (step) => examplesOfStep(source(), tokenizer, { ...settings, step }),
    objectives: (step) => (iteration === 0 && step < qaSteps ? reading : all),
  };
}

/**
 * The first stage of a model without weights: span corruption on the corpus. The passage is read
 * without a question, as in T5's pre-training.
 */
export async function* unsupervisedStage(
  run: Run,
  corpus: Corpus,
  tokenizer: Tokenizer,
): AsyncGenerator<TrainingEvent, Stage> {
  const { unsupervisedSteps: steps } = run.schedule;
  const { questions, maxPassageTokens } = run.batch;
  const seed = `${run.seed} unsupervised`;
  yield { type: "stage", name: `span corruption: ${steps} steps of ${questions} passages` };
  const idsOf = (step: number): string[] =>
    drawIndexes(corpus.size, { seed, step, count: questions }).map((place) => corpus.ids[place]!);
  const needed = Array.from({ length: steps }, (_, step) => idsOf(step)).flat();
  const passages = await corpus.pick(needed);
  const corruptPassage = spanCorruption(tokenizer);
  const reading = objectivesOf("qa", run.objective);
  return {
    ...{ first: 0, steps, seed },
    examples: (step) =>
      longestFirst(
        idsOf(step).map((id, i) => {
          const ids = passageIds(tokenizer, passages.get(id)!, maxPassageTokens);
          return corruptPassage(ids, createRandom(seed, "span corruption", step, i));
        }),
      ),
    objectives: () => reading,
  };
}

/** Makes an example of a passage that ends with `</s>`: the target is the dropped spans. */
function spanCorruption(
  tokenizer: Tokenizer,
): (passage: readonly number[], random: Random) => TokenExample {
  const { eosId } = tokenizer;
  const sentinels = Array.from(
    { length: SENTINELS },
    (_, i) => tokenizer.encode(`<extra_id_${i}>`)[0]!,
  );
  return (passage, random) => {
    const text = passage.slice(0, -1);
    const spans = noiseSpans(text.length, SENTINELS - 1, random);
    const { inputs, targets } = corrupt(text, spans, sentinels);
    return { question: [eosId], answer: [...targets, eosId], passages: [[...inputs, eosId]] };
  };
}
