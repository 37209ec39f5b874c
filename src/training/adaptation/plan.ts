/** What an adaptation is going to do, and about what it takes. */

import { createRandom } from "../../math/random.ts";
import type { ModelConfig } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import { readPassages } from "../../text/read-passages.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { CorpusSurvey } from "../data/corpus.ts";
import { MAX_PER_PASSAGE } from "../data/masked-task.ts";
import { CHUNK_TOKENS } from "../engine/engine.ts";
import { measureMatMulRate } from "../engine/matmul-rate.ts";
import type { QuerySide } from "../loss/trained-parameters.ts";
import type { ResolvedAdaptOptions, SourceName } from "../options/adapt-options.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { type AdaptationSample, adaptationSamples } from "./samples.ts";
import { MONITOR_PASSAGES, wantedSentences } from "./task.ts";

export interface AdaptationPlan {
  readonly model: string;
  readonly parameters: number;
  readonly passages: number;
  /** The share of the tokens of passages that the tokenizer does not know: about 0 for a language that the model was made with. */
  readonly unknownTokens: number;
  /** What alone is trained; undefined for all. */
  readonly querySide: QuerySide | undefined;
  /** What is trained on, and how much there is of it at most. */
  readonly sources: readonly { readonly name: SourceName; readonly examples: number }[];
  readonly iterations: number;
  readonly steps: number;
  readonly questions: number;
  readonly candidatesPerQuestion: number;
  /** Estimates: training and indexing, from a matrix product measured now; what is held at most; what is written at most. */
  readonly seconds: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** Some examples, to be read by a person. */
  readonly samples: readonly string[];
}

/** Passages and examples whose length is taken for that of all. */
const SAMPLED = 200;
/** Of the rate of a large matrix product, what a training step reaches: 60-72 of 122 GFLOP/s on two cores (docs/TRAINING.md). */
const EFFICIENCY = 0.55;
/** Backward takes twice the work of forward. */
const FORWARD_AND_BACKWARD = 3;
/** A chunk's tokens times its layers times so many numbers a token, in units of the width of the model. */
const NUMBERS_PER_TOKEN = 60;
/** Node, onnxruntime and what they waste: a run of a model of half a million parameters took 1.2 GB. */
const BASE_BYTES = 1_200_000_000;
const FLOAT_BYTES = 4;
/** Masked sentences made in a second: two are tagged for one that is usable, and its near copies are looked for. */
const SENTENCES_PER_SECOND = 150;

/** @param config the adapted model's */
export async function planAdaptation(
  options: ResolvedAdaptOptions,
  config: ModelConfig,
  corpus: CorpusSurvey,
  inputs: AdaptationInputs,
  tokenizer: Tokenizer,
): Promise<AdaptationPlan> {
  const samples = await adaptationSamples(options, corpus, inputs);
  const lengths = await meanLengths(options, corpus, tokenizer, samples);
  const work = workOf(config, options, lengths);
  const { iterations, steps, questions, candidatesPerQuestion, monitorSteps } = options;
  const passages = corpus.ids.length;
  const indexed = indexesOf(options) * passages;
  const watched =
    (2 + Math.floor((iterations * steps) / monitorSteps)) * Math.min(passages, MONITOR_PASSAGES);
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
      (iterations * steps * work.step + (indexed + watched) * work.passage) / rate +
      sentences / SENTENCES_PER_SECOND,
    ...sizesOf(config, options, passages, lengths, work.parameters),
    samples: samples.map(({ text }) => text),
  };
}

/** How often the model finds close passages, at most. */
function refreshesOf({ refresh, refreshSteps, iterations, steps }: ResolvedAdaptOptions): number {
  if (refresh === "none") return 0;
  return refresh === "iterations"
    ? iterations - 1
    : Math.floor((iterations * steps - 1) / refreshSteps);
}

/** How often the corpus is indexed: for close passages, once for all of them where keys stay as they are, and in the end. */
function indexesOf(options: ResolvedAdaptOptions): number {
  const refreshes = refreshesOf(options);
  return options.querySide ? Math.min(1, refreshes) : refreshes + 1;
}

interface Lengths {
  /** Tokens. */
  readonly passage: number;
  readonly question: number;
  readonly answer: number;
  /** UTF-16 units of a passage. */
  readonly characters: number;
  /** The share of a passage's tokens that are unknown. */
  readonly unknown: number;
}

async function meanLengths(
  { corpus: file, maxPassageTokens, maxAnswerTokens, seed, signal }: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
  tokenizer: Tokenizer,
  samples: readonly AdaptationSample[],
): Promise<Lengths> {
  const tokens: number[] = [];
  const unknown: number[] = [];
  const characters: number[] = [];
  for await (const passage of readPassages(file, signal)) {
    if (createRandom(seed, "length", passage.id).next() * corpus.ids.length >= SAMPLED) continue;
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

/**
 * Floating-point operations of a training step, and of one passage in the index: two for each weight of a matrix and token,
 * and four for each number of a state, layer and pair of tokens that attend to each other.
 */
export function workOf(
  config: ModelConfig,
  {
    questions,
    candidatesPerQuestion,
    querySide,
  }: Pick<ResolvedAdaptOptions, "questions" | "candidatesPerQuestion" | "querySide">,
  lengths: Pick<Lengths, "passage" | "question" | "answer">,
): { step: number; passage: number; parameters: number } {
  const {
    encoderLayers,
    retrievalLayer,
    decoderLayers,
    heads,
    headSize,
    modelSize,
    vocabularySize,
  } = config;
  const shapes = [...parameterShapes(config)];
  const sizeOf = (part: string): number =>
    shapes
      .filter(([name]) => name.startsWith(part) && !name.includes("relative"))
      .reduce((sum, [, shape]) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const block = sizeOf("encoder.block.") / encoderLayers;
  const cross = 2 * modelSize * heads * headSize; // keys and values of one decoder layer
  const attention = (length: number): number => 4 * length * heads * headSize;
  const pair = lengths.question + lengths.passage;
  const pairs = questions * candidatesPerQuestion;
  const lower = (length: number): number =>
    retrievalLayer * length * (2 * block + attention(length));
  const upper = (encoderLayers - retrievalLayer) * pair * (2 * block + attention(pair));
  const reading = decoderLayers * pair * 2 * cross;
  const written = sizeOf("decoder.block.") - decoderLayers * cross + vocabularySize * modelSize;
  const writing =
    questions *
    lengths.answer *
    (2 * written + decoderLayers * attention(candidatesPerQuestion * pair));
  const asked = questions * lower(lengths.question);
  const lowerAll = pairs * lower(lengths.passage) + 2 * asked;
  const forward = lowerAll + pairs * (upper + reading) + writing;
  const trained = querySide
    ? forward + (FORWARD_AND_BACKWARD - 1) * asked
    : FORWARD_AND_BACKWARD * forward;
  return {
    step: trained + lowerAll, // the gradient cache runs the lower layers once more
    passage: lower(lengths.passage),
    parameters: sizeOf(""),
  };
}

function sizesOf(
  config: ModelConfig,
  options: ResolvedAdaptOptions,
  passages: number,
  lengths: Lengths,
  parameters: number,
): { memoryBytes: number; diskBytes: number } {
  const { refresh, steps, questions, candidatesPerQuestion } = options;
  const model = parameters * FLOAT_BYTES;
  const layers = config.encoderLayers + config.decoderLayers;
  const held = Math.min(passages, steps * questions * candidatesPerQuestion) * lengths.characters;
  const states = CHUNK_TOKENS * layers * NUMBERS_PER_TOKEN * config.modelSize * FLOAT_BYTES;
  const index = passages * (lengths.passage * config.headSize * FLOAT_BYTES + lengths.characters);
  const searched = Math.min(1, refreshesOf(options));
  const beside = refresh === "background" ? BASE_BYTES + model : 0;
  return {
    // value, gradient, two means of AdamW, gradients of a chunk; then the model whose retrieval is measured, encoder and reader
    memoryBytes: BASE_BYTES + 7 * model + states + 2 * held + beside,
    // a checkpoint while it replaces another (6), the model, the one that is measured, the one that an iteration searches with
    diskBytes: (6 + 2 + searched) * model + (searched + (options.querySide ? 0 : 1)) * index,
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
