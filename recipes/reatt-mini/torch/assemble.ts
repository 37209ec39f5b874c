/**
 * Puts a reader that train.py trained into the model before:
 *
 *     npx tsx recipes/reatt-mini/torch/assemble.ts --reader FILE --out DIR [--average]
 *
 * `--average` takes the mean of the reader's weights before and after, of a reader that was trained
 * further ("model soups", Wortsman et al. 2022: such weights lie in one valley of the loss).
 *
 * Word vectors, shared and retrieval layers and the heads that retrieve stay as they are, so
 * indexes of the shipped model stay valid. The calibration goes with the old reader.
 */

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openSafetensors } from "../../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../../src/checkpoints/write-safetensors.ts";
import { type ModelConfig, retrievalRows, sharedWidth } from "../../../src/model/config.ts";
import { readConfig, writeConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterNames, parameterShapes } from "../../../src/model/parameter-names.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/more" },
    reader: { type: "string", default: "runs/reatt-mini/third/reader.safetensors" },
    out: { type: "string", default: "runs/reatt-mini/assembled" },
    average: { type: "boolean", default: false },
  },
});

const shipped = await readConfig(values.model);
const weights = await loadWeights(values.model, shipped);
await using reader = await openSafetensors(values.reader);

/** Whether the model before has the same layers: the reader was trained further. */
const isSame = shipped.joint[0]?.inputMap === true;

/** The shipped configuration with the layers that the file has. */
function configOf(names: readonly string[]): ModelConfig {
  const [bert] = shipped.joint;
  const numbers = names.map((name) => Number(/^joint\.0\.layer\.(\d+)\./.exec(name)?.[1] ?? -1));
  const { calibration: _, ...rest } = shipped;
  if (isSame) return rest;
  const [first, end] = retrievalRows(shipped);
  const { headSize } = shipped.joint[1]!;
  return {
    ...rest,
    joint: [{ ...bert!, layers: Math.max(...numbers) + 1, inputMap: true }],
    retrievalAttention: {
      from: "own",
      heads: (end - first) / headSize,
      headSize,
      similarity: "cosine",
    },
  };
}

const config = configOf([...reader.tensors.keys()]);

/** The heads get projections of their own: their rows of the layer that had them. */
function separateHeads(): void {
  const { heads } = parameterNames(shipped);
  const own = parameterNames(config).heads;
  const [first, end] = retrievalRows(shipped);
  const width = sharedWidth(shipped);
  const rowsOf = (name: string): Float32Array =>
    weights.get(name)!.slice(first * width, end * width);
  weights.set(own.norm!, weights.get(heads.norm!)!);
  weights.set(own.query.weight, rowsOf(heads.query.weight));
  weights.set(own.key.weight, rowsOf(heads.key.weight));
}

if (!isSame) separateHeads();

/** The weights of the file, or their mean with those of before. */
async function trained(name: string): Promise<Float32Array> {
  const after = await reader.read(name);
  if (!values.average) return after;
  const before = weights.get(name)!;
  return after.map((weight, i) => (weight + before[i]!) / 2);
}

const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>();
for (const [name, shape] of parameterShapes(config)) {
  const isTrained = reader.tensors.has(name);
  tensors.set(name, { shape, values: isTrained ? await trained(name) : weights.get(name)! });
}
await mkdir(values.out, { recursive: true });
await writeSafetensors(join(values.out, "model.safetensors"), tensors, { dtype: "F32" });
await copyFile(join(values.model, "spiece.model"), join(values.out, "spiece.model"));
await writeConfig(values.out, config);
