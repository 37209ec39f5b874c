/** One training batch of each reference model, with losses and gradients of PyTorch. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { EMBEDDING } from "../../src/model/parameter-names.ts";
import { t5Names } from "../../src/model/t5-form.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import type { TextBatch } from "../../src/training/engine/text-batch.ts";
import { assertNear } from "./arrays.ts";
import type { LossAndGradients, LossOptions } from "./loss-and-gradients.ts";
import { referenceFolder, writeReferenceModel } from "./reference-model.ts";

export interface TrainingReference extends Disposable {
  /** The model, with the tokenizer that its folder lacks. */
  readonly folder: string;
  readonly batch: TextBatch;
  readonly options: LossOptions;
  readonly losses: { readonly nll: number; readonly kl: number; readonly loss: number };
  readonly target: readonly (readonly number[])[];
  readonly scores: readonly (readonly number[])[];
  /** Of each parameter of the model. */
  readonly norms: Readonly<Record<string, number>>;
  readonly gradients: ReadonlyMap<string, Float32Array>;
  /** The rows of the embedding whose gradients are `shared.rows`. */
  readonly sharedRows: readonly number[];
}

export async function readTrainingReference(model: string): Promise<TrainingReference> {
  const source = referenceFolder(model);
  const training = JSON.parse(readFileSync(join(source, "training.json"), "utf8"));
  const passages = new Map<string, TextBatch["passages"][number][number]>();
  for await (const passage of readPassages(join(source, "corpus.jsonl")))
    passages.set(passage.id, passage);
  await using file = await openSafetensors(join(source, "gradients.safetensors"));
  const gradients = new Map<string, Float32Array>();
  for (const name of file.tensors.keys())
    gradients.set(name.replace(/^grad\./, ""), await file.read(name));

  const folder = mkdtempSync(join(tmpdir(), "reatt-reference-"));
  writeReferenceModel(source, folder);
  const names = t5Names(await readConfig(folder));
  const ours = new Map([...names].map(([own, inForm]) => [inForm, own]));
  const renamed = <V>(entries: Iterable<[string, V]>): [string, V][] =>
    Array.from(entries, ([name, value]) => [ours.get(name) ?? name, value]);
  return {
    folder,
    batch: {
      questions: training.questions,
      answers: training.answers,
      passages: training.doc_ids.map((ids: string[]) => ids.map((id) => passages.get(id)!)),
    },
    options: {
      alpha: training.alpha,
      tau: training.tau,
      headWeights: training.head_weights,
      logScale: training.log_scale,
      maxPassageTokens: training.max_passage_tokens,
    },
    losses: training,
    target: training.target,
    scores: withoutCopies(training.scores, training.doc_ids.flat()),
    norms: Object.fromEntries(renamed(Object.entries<number>(training.grad_norms))),
    gradients: new Map(renamed(gradients)),
    sharedRows: training.shared_rows,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** The columns of the first copy of each passage. */
function withoutCopies(scores: readonly number[][], ids: readonly string[]): number[][] {
  return scores.map((row) => row.filter((_, column) => ids.indexOf(ids[column]!) === column));
}

/** Parameters that the loss adds to those of T5. */
const LEARNED_SCALARS = ["head_weights", "log_scale"];

const LOSS_TOLERANCE = 1e-6;
const GRADIENT_TOLERANCE = 1e-5; // of the largest value of a gradient; measured below 3e-6
/**
 * Of the learned scalars: terms around 16, each with a rounding error of 1e-6 in float32, cancel to
 * 0.02, so an error is 5e-5 of the sum. How the processor adds decides how many count: measured
 * below 7e-5 with AVX-512, 2.3e-4 with AVX2 alone.
 */
const SCALAR_TOLERANCE = 5e-4;
const NORM_TOLERANCE = 1e-4; // the reference sums squares in float32, with an error of 8e-5

/** Fails if losses or gradients differ from the reference. */
export function assertLikeReference(
  actual: Omit<LossAndGradients, "scores" | "gradients"> & Pick<TrainingReference, "gradients">,
  reference: TrainingReference,
): void {
  for (const name of ["nll", "kl", "loss"] as const)
    assertNear([actual[name]], [reference.losses[name]], LOSS_TOLERANCE, name);
  assertNear(actual.target.flat(), reference.target.flat(), LOSS_TOLERANCE, "target attention");
  for (const [name, expected] of reference.gradients) {
    const gradient =
      name === "shared.rows"
        ? rowsOf(actual.gradients.get(EMBEDDING)!, expected.length, reference.sharedRows)
        : actual.gradients.get(name)!;
    const tolerance = LEARNED_SCALARS.includes(name) ? SCALAR_TOLERANCE : GRADIENT_TOLERANCE;
    assertNear(gradient, expected, tolerance, `gradient of ${name}`);
  }
  for (const [name, expected] of Object.entries(reference.norms)) {
    const squares = actual.gradients.get(name)!.reduce((sum, value) => sum + value * value, 0);
    assertNear([Math.sqrt(squares)], [expected], NORM_TOLERANCE, `norm of ${name}`);
  }
  const others = [...actual.gradients.keys()].filter((name) => reference.norms[name] === undefined);
  assert.equal(others.sort(), LEARNED_SCALARS);
}

/** Some rows of a table; `length` is the numbers of all of them. */
function rowsOf(table: Float32Array, length: number, rows: readonly number[]): Float32Array {
  const width = length / rows.length;
  return Float32Array.from(
    rows.flatMap((row) => [...table.subarray(row * width, (row + 1) * width)]),
  );
}
