/** The plan of an adaptation: what it does, and estimates of time, memory and disk space. */

import { mean } from "../../math/mean.ts";
import { createRandom } from "../../math/random.ts";
import type { ModelConfig } from "../../model/config.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { Corpus } from "../data/corpus.ts";
import { MAX_PER_PASSAGE } from "../data/sample-masked-sentences.ts";
import { CHUNK_TOKENS } from "../engine/engine.ts";
import { measureMatMulRate } from "../engine/matmul-rate.ts";
import type { QuerySide } from "../loss/options.ts";
import type { ResolvedAdaptOptions, SourceName } from "../options/adapt-options.ts";
import { wantedSentences } from "./example-counts.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { MONITOR_PASSAGES } from "./monitor-set.ts";
import { type AdaptationSample, adaptationSamples } from "./samples.ts";
import { type TokenLengths, type Work, workOf } from "./work.ts";

/** What an adaptation is going to do. All numbers of time and size are estimates. */
export interface AdaptationPlan {
  readonly model: string;
  /** Number of parameters. */
  readonly parameters: number;
  /** Number of passages. */
  readonly passages: number;
  /**
   * Share of the passages' tokens that the tokenizer does not know; near 0 for a known language.
   */
  readonly unknownTokens: number;
  /** The part that is trained; undefined if everything is trained. */
  readonly querySide: QuerySide | undefined;
  /** The sources, each with its maximum number of examples. */
  readonly sources: readonly { readonly name: SourceName; readonly examples: number }[];
  readonly iterations: number;
  readonly steps: number;
  readonly questions: number;
  readonly candidatesPerQuestion: number;
  /** Of training and indexing, from a matrix product measured now. */
  readonly seconds: number;
  /** Maximum memory. */
  readonly memoryBytes: number;
  /** Maximum disk space. */
  readonly diskBytes: number;
  /** Some examples, formatted. */
  readonly samples: readonly string[];
}

/** Number of passages from which mean lengths are estimated. */
const SAMPLED_PASSAGES = 200;
/**
 * Rate of a training step relative to a large matrix product: 60 to 72 of 122 GFLOP/s on two cores
 * (docs/experiments/speed.md).
 */
const EFFICIENCY = 0.55;
/** Values that a token of a chunk holds in each layer, in units of the model size. */
const VALUES_PER_TOKEN = 60;
/** Node and onnxruntime: a run of a model of half a million parameters took 1.2 GB. */
const BASE_BYTES = 1_200_000_000;
const FLOAT_BYTES = 4;
/** Masked sentences per second: two are tagged for each usable one, and near copies are removed. */
const SENTENCES_PER_SECOND = 150;

/** @param config configuration of the adapted model */
export async function planAdaptation(
  options: ResolvedAdaptOptions,
  config: ModelConfig,
  corpus: Corpus,
  inputs: AdaptationInputs,
  tokenizer: Tokenizer,
): Promise<AdaptationPlan> {
  const samples = await adaptationSamples(options, corpus, inputs);
  const lengths = await meanLengths(options, corpus, tokenizer, samples);
  const work = workOf(config, options, lengths);
  const { iterations, steps, questions, candidatesPerQuestion, monitorSteps } = options;
  const passages = corpus.size;
  const measurements = 2 + Math.floor((iterations * steps) / monitorSteps);
  const indexed =
    indexesOf(options) * passages + measurements * Math.min(passages, MONITOR_PASSAGES);
  const sentences = inputs.sources.includes("spans") ? wantedSentences(options, inputs.sources) : 0;
  const rate = EFFICIENCY * (await measureMatMulRate(config.modelSize, options));
  const examples: Record<SourceName, number> = {
    spans: Math.min(sentences, passages * MAX_PER_PASSAGE),
    questions: inputs.questions.training.length,
    labels: inputs.labelled.training.length,
  };
  return {
    model: options.model,
    parameters: work.parameters,
    passages,
    unknownTokens: lengths.unknown,
    querySide: options.querySide,
    sources: inputs.sources.map((name) => ({ name, examples: examples[name] })),
    ...{ iterations, steps, questions, candidatesPerQuestion },
    seconds:
      (iterations * steps * work.step + indexed * work.passage) / rate +
      sentences / SENTENCES_PER_SECOND,
    ...sizesOf(config, options, passages, lengths, work),
    samples: samples.map(({ text }) => text),
  };
}

/** Maximum number of times that the model finds candidates. */
function refreshesOf({ refresh, refreshSteps, iterations, steps }: ResolvedAdaptOptions): number {
  if (refresh === "none") return 0;
  return refresh === "iterations"
    ? iterations - 1
    : Math.floor((iterations * steps - 1) / refreshSteps);
}

/** Indexes of the whole corpus: for each refresh and at the end. Fixed keys need one index only. */
function indexesOf(options: ResolvedAdaptOptions): number {
  const refreshes = refreshesOf(options);
  return options.querySide ? Math.min(1, refreshes) : refreshes + 1;
}

interface MeanLengths extends TokenLengths {
  /** UTF-16 code units of a passage. */
  readonly characters: number;
  /** Share of a passage's tokens that are unknown. */
  readonly unknown: number;
}

async function meanLengths(
  { maxPassageTokens, maxAnswerTokens, seed }: ResolvedAdaptOptions,
  corpus: Corpus,
  tokenizer: Tokenizer,
  samples: readonly AdaptationSample[],
): Promise<MeanLengths> {
  const tokens: number[] = [];
  const unknown: number[] = [];
  const characters: number[] = [];
  const isSampled = (id: string): boolean =>
    createRandom(seed, "length", id).next() * corpus.size < SAMPLED_PASSAGES;
  for await (const passage of corpus.passages(isSampled)) {
    const ids = passageIds(tokenizer, passage, maxPassageTokens);
    tokens.push(ids.length);
    unknown.push(ids.filter((id) => id === tokenizer.unknownId).length);
    characters.push(passage.title.length + passage.text.length);
  }
  return {
    passage: mean(tokens),
    characters: mean(characters),
    unknown: mean(unknown) / mean(tokens),
    question: mean(samples.map(({ question }) => retrievalQuestionIds(tokenizer, question).length)),
    answer: mean(
      samples.map(({ answer }) => Math.min(maxAnswerTokens, tokenizer.encode(answer).length + 1)),
    ),
  };
}

function sizesOf(
  config: ModelConfig,
  options: ResolvedAdaptOptions,
  passages: number,
  lengths: MeanLengths,
  { parameters }: Work,
): { memoryBytes: number; diskBytes: number } {
  const { refresh, steps, questions, candidatesPerQuestion } = options;
  const model = parameters * FLOAT_BYTES;
  const layers = config.encoderLayers + config.decoderLayers;
  const held = Math.min(passages, steps * questions * candidatesPerQuestion) * lengths.characters;
  const states = CHUNK_TOKENS * layers * VALUES_PER_TOKEN * config.modelSize * FLOAT_BYTES;
  const index = passages * (lengths.passage * config.headSize * FLOAT_BYTES + lengths.characters);
  const searched = Math.min(1, refreshesOf(options));
  const process = refresh === "background" ? BASE_BYTES + model : 0;
  return {
    // 7 models: value, gradient, two moments, gradients of a chunk, and the measured model's
    // encoder and reader
    memoryBytes: BASE_BYTES + 7 * model + states + 2 * held + process,
    // 6 of a checkpoint that replaces another, the saved model, the measured model, and the model
    // that finds candidates
    diskBytes: (6 + 2 + searched) * model + (searched + (options.querySide ? 0 : 1)) * index,
  };
}
