/** Reading as it runs: the upper encoder layers over question and passages, then the decoder, step by step. */

import type { ModelConfig } from "../config.ts";
import { upperStates } from "../encoder/upper.ts";
import { positionBuckets } from "../layers/relative-position.ts";
import { inferenceScope } from "../layers/scope.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../tensor/session.ts";
import { type Graph, type Signature, trace, type Value } from "../tensor/trace.ts";
import { buildParameters } from "../weights/names.ts";
import { crossKeyValues, decode, type KeyValue, targetAttention, vocabularyLogits } from "./decoder.ts";

/** States of the lower encoder layers [batch, length, modelSize] and their mask [batch, length]. */
export interface MaskedStates {
  readonly states: Tensor;
  readonly mask: Tensor;
}

/** What the decoder reads of some questions, each with equally many passages. */
export interface FusedPassages {
  /** `cross.N.key` and `cross.N.value` of every decoder block N: [questions, heads, fused, headSize]. */
  readonly cross: Readonly<Record<string, Tensor>>;
  /** float32 [questions, passages of a question, length]; fused = passages of a question * length */
  readonly mask: Tensor;
}

/** The answers written so far, one a row. */
export interface Rows {
  /** int32 [rows, 1]: the token written last */
  readonly ids: Tensor;
  /** int32 [rows]: the row of the step before that each row continues */
  readonly parents: Tensor;
  /** `past.N.key` and `past.N.value` of every decoder block N: [rows of the step before, heads, past, headSize]. */
  readonly past: Readonly<Record<string, Tensor>>;
}

export interface ReaderSession extends AsyncDisposable {
  /**
   * Reads every question with each of its passages.
   *
   * `questions` are padded on the left, `passages` on the right. `reading` has for each question the rows of its
   * passages, equally many.
   */
  fuse(
    questions: MaskedStates,
    passages: MaskedStates,
    reading: readonly (readonly number[])[],
  ): Promise<FusedPassages>;
  /** The empty past of a first step. */
  start(rows: number): Rows["past"];
  /** `logits` [rows, vocabularySize]; `attention` [questions, passages of a question] is the target attention at a first step. */
  step(fused: FusedPassages, rows: Rows): Promise<{ logits: Tensor; attention: Tensor; past: Rows["past"] }>;
}

export async function openReader(config: ModelConfig, options: CompileOptions): Promise<ReaderSession> {
  const [upper, step] = await Promise.all([
    compile(traceUpper(config), options),
    compile(traceStep(config), options),
  ]);
  return {
    fuse: (questions, passages, reading) => fuse(config, upper, questions, passages, reading),
    start: (rows) => mapBlocks(config, "past", () => emptyPast(config, rows)),
    step: async (fused, { ids, parents, past }) => {
      const length = past["past.0.key"]!.shape[2]!;
      const buckets = positionBuckets(config, "decoder", 1, length + 1, length);
      const { logits, attention, ...present } = await step.run({
        ids,
        parents,
        buckets,
        mask: fused.mask,
        ...fused.cross,
        ...past,
      });
      return { logits: logits!, attention: attention!, past: present };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([upper[Symbol.asyncDispose](), step[Symbol.asyncDispose]()]);
    },
  };
}

/** -> `states` [pairs, question + passage, modelSize] and `cross.N.key`, `cross.N.value` as in `FusedPassages`. */
export function traceUpper(config: ModelConfig): Graph {
  const { modelSize } = config;
  return trace(
    {
      question: ["float32", "questions", "question", modelSize],
      passage: ["float32", "passages", "passage", modelSize],
      questionOf: ["int32", "pairs"],
      passageOf: ["int32", "pairs"],
      mask: ["float32", "pairs", "question+passage"],
      buckets: ["int32", "question+passage", "question+passage"],
    },
    (ops, { question, passage, questionOf, passageOf, mask, buckets }) => {
      const scope = inferenceScope(ops, config);
      const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      const states = upperStates(scope, parameters, {
        question: ops.gather(question, questionOf),
        passage: ops.gather(passage, passageOf),
        mask,
        buckets,
      });
      const fused = ops.reshape(states, ["questions", -1, modelSize]);
      return { states, ...named("cross", crossKeyValues(scope, parameters, fused)) };
    },
  );
}

/** -> `logits`, `attention` as in `ReaderSession.step`, and `past.N.key`, `past.N.value` for the step after. */
export function traceStep(config: ModelConfig): Graph {
  const { heads, headSize } = config;
  const inputs: Record<string, Signature> = {
    ids: ["int32", "rows", 1],
    parents: ["int32", "rows"],
    buckets: ["int32", 1, "past+1"],
    mask: ["float32", "questions", "passages", "length"],
    ...mapBlocks(config, "cross", () => ["float32", "questions", heads, "fused", headSize] as const),
    ...mapBlocks(config, "past", () => ["float32", "parentRows", heads, "past", headSize] as const),
  };
  return trace(inputs, (ops, input) => {
    const scope = inferenceScope(ops, config);
    const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
    const pairs = (kind: string, use: (value: Value) => Value): KeyValue<Value>[] =>
      Array.from({ length: config.decoderLayers }, (_, i) => ({
        key: use(input[`${kind}.${i}.key`]!),
        value: use(input[`${kind}.${i}.value`]!),
      }));
    const { states, present, crossScores } = decode(scope, parameters, {
      ids: input.ids!,
      buckets: input.buckets!,
      cross: pairs("cross", (value) => value),
      crossMask: ops.reshape(input.mask!, ["questions", -1]),
      past: pairs("past", (value) => ops.gather(value, input.parents!)),
    });
    return {
      logits: ops.reshape(vocabularyLogits(scope, parameters, states), ["rows", config.vocabularySize]),
      attention: targetAttention(scope, crossScores, "passages"),
      ...named("past", present),
    };
  });
}

async function fuse(
  config: ModelConfig,
  upper: Session,
  questions: MaskedStates,
  passages: MaskedStates,
  reading: readonly (readonly number[])[],
): Promise<FusedPassages> {
  const questionOf = reading.flatMap((rows, question) => rows.map(() => question));
  const passageOf = reading.flat();
  const pairs = passageOf.length;
  const questionLength = questions.mask.shape[1]!;
  const passageLength = passages.mask.shape[1]!;
  const length = questionLength + passageLength;
  const mask = new Float32Array(pairs * length);
  for (let pair = 0; pair < pairs; pair++) {
    const [question, passage] = [questionOf[pair]! * questionLength, passageOf[pair]! * passageLength];
    mask.set(questions.mask.data.subarray(question, question + questionLength), pair * length);
    mask.set(passages.mask.data.subarray(passage, passage + passageLength), pair * length + questionLength);
  }
  const feeds = {
    question: questions.states,
    passage: passages.states,
    questionOf: { data: Int32Array.from(questionOf), shape: [pairs] },
    passageOf: { data: Int32Array.from(passageOf), shape: [pairs] },
    mask: { data: mask, shape: [pairs, length] },
    buckets: positionBuckets(config, "encoder", length),
  };
  const cross = await upper.run(feeds, Object.keys(mapBlocks(config, "cross", () => 0)));
  return { cross, mask: { data: mask, shape: [reading.length, reading[0]!.length, length] } };
}

function emptyPast({ heads, headSize }: ModelConfig, rows: number): Tensor {
  return { data: new Float32Array(0), shape: [rows, heads, 0, headSize] };
}

/** One entry for the keys and one for the values of each decoder block, by the names that graphs give them. */
function mapBlocks<V>(
  { decoderLayers }: ModelConfig,
  kind: "cross" | "past",
  make: () => V,
): Record<string, V> {
  const blocks = Array.from({ length: decoderLayers }, (_, i) => [`${kind}.${i}.key`, `${kind}.${i}.value`]);
  return Object.fromEntries(blocks.flat().map((name) => [name, make()]));
}

function named(kind: "cross" | "past", blocks: readonly KeyValue<Value>[]): Record<string, Value> {
  return Object.fromEntries(
    blocks.flatMap(({ key, value }, i) => [
      [`${kind}.${i}.key`, key],
      [`${kind}.${i}.value`, value],
    ]),
  );
}
