/** Converts the encoder of the teacher, block by block. */

import { mean } from "../../../src/math/mean.ts";
import { CONSTANT, type Conversion, mapFromStates } from "./conversion.ts";
import { joined, multiply, normedRows } from "./rows.ts";
import { addedByPart } from "./student.ts";
import { type Linear, TEACHER } from "./teacher.ts";

/**
 * Converts block `block` and advances the states.
 *
 * @param scale how much the teacher's norms have scaled what was added to the stream before
 * @returns the scale after the block
 */
export async function convertBlock(
  conversion: Conversion,
  block: number,
  scale: number,
): Promise<number> {
  const { teacher, texts, weights } = conversion;
  const layer = teacher.layers[block]!;
  const target = (values: readonly Float32Array[]) => ({
    data: joined(values),
    columns: TEACHER.size,
  });

  const input = target(texts.map(({ inputs }) => inputs[block]!));
  const toInput = mapFromStates(conversion, input, `block ${block}, attention`);
  const before = meanConstant(conversion);
  const rows = (linear: Linear<Float32Array>) => composed(linear, toInput, before);
  writeHeads(conversion, block, "q", rows(layer.query), 1 / TEACHER.headSize ** 0.5);
  writeHeads(conversion, block, "k", rows(layer.key), 1);
  writeHeads(conversion, block, "v", rows(layer.value), 1);
  writeAttentionOutput(conversion, block, layer.attentionOutput.weight, scale);
  await addPart(conversion, block, "attention");
  const attendedScale =
    (scale * mean(layer.attentionNorm.weight)) / deviation(conversion, block, 0);

  const attended = target(texts.map((text) => text.attended[block]!));
  const toAttended = mapFromStates(conversion, attended, `block ${block}, feed-forward`);
  const name = `encoder.block.${block}.layer.1.DenseReluDense`;
  weights
    .get(`${name}.wi.weight`)!
    .set(composed(layer.inner, toAttended, meanConstant(conversion)));
  const outer = layer.outer.weight.map((w) => w / attendedScale);
  weights.get(`${name}.wo.weight`)!.fill(0).set(outer);
  await addPart(conversion, block, "feedForward");
  return (attendedScale * mean(layer.outerNorm.weight)) / deviation(conversion, block, 1);
}

/** The weight of an attention projection of the encoder. */
export const attentionWeight = (
  { weights }: Pick<Conversion, "weights">,
  block: number,
  part: "q" | "k" | "v" | "o",
): Float32Array => weights.get(`encoder.block.${block}.layer.0.SelfAttention.${part}.weight`)!;

async function addPart(
  { config, weights, states }: Conversion,
  block: number,
  part: "attention" | "feedForward",
): Promise<void> {
  const added = await addedByPart(config, weights, { block, part }, states);
  added.forEach((change, text) => {
    const state = states[text]!;
    change.forEach((x, i) => {
      state[i]! += x;
    });
  });
}

/** The teacher's linear layer after `map`: [out, modelSize]. The constant carries the bias. */
function composed(
  { weight, bias }: Linear<Float32Array>,
  map: Float32Array,
  constant: number,
): Float32Array {
  const columns = map.length / TEACHER.size;
  const product = multiply(weight, map, TEACHER.size, columns);
  bias.forEach((b, out) => {
    product[out * columns + CONSTANT]! += b / constant;
  });
  return product;
}

/** The mean of the constant dimension of the normed states. */
function meanConstant({ config: { modelSize }, states }: Conversion): number {
  return mean(normedRows(states, modelSize).data.filter((_, i) => i % modelSize === CONSTANT));
}

/**
 * Writes the rows of the teacher's heads to their places. Further rows of q and v stay random, and
 * those of k are 0: attention is unchanged, but training can use them.
 */
function writeHeads(
  conversion: Conversion,
  block: number,
  part: "q" | "k" | "v",
  projection: Float32Array,
  factor: number,
): void {
  const { modelSize, headSize } = conversion.config;
  const target = attentionWeight(conversion, block, part);
  const rows = TEACHER.headSize * modelSize;
  conversion.plan.heads[block]!.forEach((head, place) => {
    const first = place * headSize * modelSize;
    if (part === "k" || head < 0) target.fill(0, first, first + headSize * modelSize);
    if (head < 0) return;
    const ofHead = projection.subarray(head * rows, (head + 1) * rows);
    target.set(
      ofHead.map((x) => factor * x),
      first,
    );
  });
}

function writeAttentionOutput(
  conversion: Conversion,
  block: number,
  weight: Float32Array,
  scale: number,
): void {
  const { heads, headSize } = conversion.config;
  const target = attentionWeight(conversion, block, "o").fill(0);
  conversion.plan.heads[block]!.forEach((head, place) => {
    if (head < 0) return;
    for (let out = 0; out < TEACHER.size; out++)
      for (let i = 0; i < TEACHER.headSize; i++)
        target[out * heads * headSize + place * headSize + i] =
          weight[out * TEACHER.size + head * TEACHER.headSize + i]! / scale;
  });
}

/** The median over tokens of the standard deviation before a norm of the teacher. */
function deviation({ texts }: Conversion, block: number, norm: 0 | 1): number {
  const all = texts.flatMap(({ teacher }) =>
    [...teacher.deviations[block]!].filter((_, i) => i % 2 === norm),
  );
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
}
