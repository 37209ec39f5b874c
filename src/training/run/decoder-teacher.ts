/**
 * The model's own decoder as the teacher of the objective `retrieval`: it scores the candidates of
 * each question once, at the beginning of an iteration, with the model of that moment.
 *
 * - `answer`: log P(answer | question, passage), as the marginal likelihood of REALM (Guu et al.
 *   2020) weighs passages. Examples without an answer get no scores.
 * - `question`: log P(question | passage), as in UPR (Sachan et al. 2022) and ART (Sachan et al.
 *   2023), but with the model that is trained. The passage is read without a question.
 *
 * The loss is that of given scores (loss/retrieval-only.ts). GPL (Wang et al. 2022) trains so with
 * a separate ranker.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ProgressEvent } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { ModelConfig } from "../../model/config.ts";
import { inferenceContext } from "../../model/layers/context.ts";
import { compile, type Session } from "../../tensor/session.ts";
import { type Graph, trace } from "../../tensor/trace.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { TextExample, TextExamples } from "../examples/step.ts";
import { chunksOf, type TokenExample } from "../loss/batch.ts";
import { encodeChunk, type ReadingInputs, readAlone } from "../loss/forward.ts";
import { chunkInputs } from "../loss/graph-inputs.ts";
import { labelLogProbabilities } from "../loss/nll.ts";
import { buildTrainedParameters } from "../loss/trained-parameters.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

type TeacherOptions = Pick<
  ResolvedOptions,
  "out" | "resume" | "teacher" | "maxPassageTokens" | "maxAnswerTokens" | "provider" | "signal"
>;

/** Pairs are read in any order: a few questions at a time need little memory. */
const QUESTIONS_PER_BATCH = 4;

/** Scores by example and candidate; null where the decoder gives none. */
const scoresFile = z.array(z.array(z.number().nullable()));
type Scores = z.infer<typeof scoresFile>;

/**
 * The examples with the scores of the decoder, which are kept on disk for a resumed run.
 *
 * @param parameters of the model that begins the iteration
 */
export async function* withDecoderScores(
  source: TextExamples,
  iteration: number,
  options: TeacherOptions,
  model: {
    readonly config: ModelConfig;
    readonly tokenizer: Tokenizer;
    readonly parameters: ReadonlyMap<string, ParameterState>;
  },
): AsyncGenerator<ProgressEvent, TextExamples> {
  const file = join(options.out, "checkpoint", `decoder-scores-${iteration}.json`);
  const known = options.resume ? await readScores(file) : undefined;
  const scores = known ?? (yield* scoreAll(source, options, model));
  if (!known) await replaceFile(file, (handle) => handle.writeFile(JSON.stringify(scores)));
  return {
    size: source.size,
    example: (index, step) => ({
      ...source.example(index, step),
      scores: scores[index]!.map((score) => score ?? undefined),
    }),
  };
}

async function readScores(file: string): Promise<Scores | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  return text === undefined ? undefined : scoresFile.parse(JSON.parse(text));
}

async function* scoreAll(
  source: TextExamples,
  options: TeacherOptions,
  {
    config,
    tokenizer,
    parameters,
  }: {
    readonly config: ModelConfig;
    readonly tokenizer: Tokenizer;
    readonly parameters: ReadonlyMap<string, ParameterState>;
  },
): AsyncGenerator<ProgressEvent, Scores> {
  yield { type: "stage", name: "scoring candidates with the decoder", total: source.size };
  const weights = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const sessions = new Map<string, Session>();
  const scores: Scores = [];
  try {
    for (let first = 0; first < source.size; first += QUESTIONS_PER_BATCH) {
      options.signal?.throwIfAborted();
      const count = Math.min(QUESTIONS_PER_BATCH, source.size - first);
      const examples = Array.from({ length: count }, (_, i) => source.example(first + i, 0));
      const read = examples.map((example) => tokenExample(tokenizer, example, options));
      const candidates = Math.max(...read.map(({ passages }) => passages.length));
      const name = `${count} x ${candidates}`;
      const session =
        sessions.get(name) ??
        (await compile(traceLikelihoods(config, count, candidates), {
          weights,
          provider: options.provider,
        }));
      sessions.set(name, session);
      scores.push(...(await likelihoods(session, config, read)));
      yield { type: "progress", done: scores.length };
    }
    return scores;
  } finally {
    for (const session of sessions.values()) await session[Symbol.asyncDispose]();
  }
}

/** What the decoder has to generate is the answer. */
function tokenExample(
  tokenizer: Tokenizer,
  { question, answer, passages, retrievalOnly }: TextExample,
  { teacher, maxPassageTokens, maxAnswerTokens }: TeacherOptions,
): TokenExample {
  const generated = teacher === "question" ? question : retrievalOnly ? "" : answer;
  const target = [...tokenizer.encode(generated), tokenizer.eosId].slice(0, maxAnswerTokens);
  return {
    question:
      teacher === "question" ? [tokenizer.eosId] : retrievalQuestionIds(tokenizer, question),
    answer: generated === "" ? [] : target,
    passages: passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens)),
  };
}

/** log P(answer | question, passage) of each candidate; null for an example without an answer. */
async function likelihoods(
  session: Session,
  config: ModelConfig,
  examples: readonly TokenExample[],
): Promise<Scores> {
  const options = { objective: "marginal", inBatchNegatives: false } as const;
  const [chunk] = chunksOf(config, examples, examples.length, options);
  const { scores } = await session.run(chunk!.tensors, ["scores"]);
  const columns = scores!.shape[1]!;
  return examples.map(({ answer, passages }, question) => {
    if (answer.length === 0) return passages.map(() => null);
    const names = [...new Set(passages.map(String))]; // a chunk reads equal passages once
    return passages.map((ids) => scores!.data[question * columns + names.indexOf(String(ids))]!);
  });
}

/** -> `scores` [Q, K]: the sum over answer tokens of their log probability. */
function traceLikelihoods(config: ModelConfig, questions: number, candidates: number): Graph {
  return trace(chunkInputs({ questions, candidates }, "marginal"), (tracer, input) => {
    const context = inferenceContext(tracer, config);
    const trained = buildTrainedParameters(tracer, config, {}, (name, shape) =>
      tracer.parameter(name, shape),
    );
    const read = input as ReadingInputs<(typeof input)[keyof typeof input]>;
    const encoded = encodeChunk(context, trained.model, read, {});
    const ofLabels = labelLogProbabilities(
      tracer,
      readAlone(context, trained.model, read, encoded),
    );
    return { scores: tracer.reshape(tracer.sum(ofLabels, [1]), [questions, candidates]) };
  });
}
