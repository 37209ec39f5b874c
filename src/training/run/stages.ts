/** The stages of a run. In each of them the learning rate rises and falls once. */

import { createRandom, type Random } from "../../math/random.ts";
import { passageIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import { type CorpusSurvey, pickPassages } from "../data/corpus.ts";
import {
  drawIndexes,
  type ExampleSource,
  examplesOfStep,
  longestFirst,
} from "../data/example-source.ts";
import { corrupt, noiseSpans } from "../data/span-corruption.ts";
import type { TokenExample } from "../loss/batch.ts";
import type { ObjectiveName } from "../loss/options.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { TrainingEvent } from "./events.ts";

const SENTINELS = 100; // of T5's vocabulary

export interface Stage {
  /** Steps of the run before it. */
  readonly first: number;
  readonly steps: number;
  /** Names its random numbers. */
  readonly seed: string;
  /** What a step, counted from 0 in the stage, is computed of. */
  examples(step: number): TokenExample[];
  objective(step: number): ObjectiveName;
}

/** An iteration, counted from 0: questions with their close passages, which are asked for at every step. */
export function iterationStage(
  options: ResolvedOptions,
  iteration: number,
  source: () => ExampleSource,
  tokenizer: Tokenizer,
): Stage {
  const { unsupervisedSteps, qaSteps, steps, objective } = options;
  const seed = `${options.seed} ${iteration}`;
  return {
    ...{ first: unsupervisedSteps + iteration * steps, steps, seed },
    examples: (step) => examplesOfStep(source(), tokenizer, { ...options, seed, step }),
    objective: (step) => (iteration === 0 && step < qaSteps ? "qa" : objective),
  };
}

/**
 * What a new model does first: span corruption on the corpus. It reads a passage without a question, not even an empty one,
 * and so as T5 reads in its pre-training; what the words before a question mean is left to the questions.
 */
export async function* unsupervisedStage(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  tokenizer: Tokenizer,
): AsyncGenerator<TrainingEvent, Stage> {
  const { unsupervisedSteps: steps, questions, maxPassageTokens, signal } = options;
  const seed = `${options.seed} unsupervised`;
  yield {
    type: "stage",
    name: `restoring spans of the corpus: ${steps} steps of ${questions} passages`,
  };
  const places = (step: number): number[] =>
    drawIndexes(corpus.ids.length, { seed, step, count: questions });
  const needed = new Set(Array.from({ length: steps }, (_, step) => places(step)).flat());
  const ids = [...needed].map((place) => corpus.ids[place]!);
  const passages = await pickPassages(options.corpus, ids, corpus.digest, signal);
  const restore = restoration(tokenizer);
  return {
    ...{ first: 0, steps, seed },
    examples: (step) =>
      longestFirst(
        places(step).map((place, i) => {
          const ids = passageIds(tokenizer, passages.get(corpus.ids[place]!)!, maxPassageTokens);
          return restore(ids, createRandom(seed, "span corruption", step, i));
        }),
      ),
    objective: () => "qa",
  };
}

/** Makes an example of a passage, which ends with `</s>`: spans are dropped from what is read, and are to be written. */
function restoration(
  tokenizer: Tokenizer,
): (passage: readonly number[], random: Random) => TokenExample {
  const { eosId } = tokenizer;
  const sentinels = Array.from(
    { length: SENTINELS },
    (_, i) => tokenizer.encode(`<extra_id_${i}>`)[0]!,
  );
  return (passage, random) => {
    const text = passage.slice(0, -1);
    const { inputs, targets } = corrupt(
      text,
      noiseSpans(text.length, SENTINELS - 1, random),
      sentinels,
    );
    return { question: [eosId], answer: [...targets, eosId], passages: [[...inputs, eosId]] };
  };
}
