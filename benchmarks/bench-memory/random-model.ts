/** Model folders of the sizes of T5 v1.1 with random weights: their memory and times are real. */

import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeWeights } from "../../src/checkpoints/write-weights.ts";
import { isComplete } from "../../src/hub/model-files.ts";
import { EMBEDDED_MODEL } from "../../src/hub/model-name.ts";
import { createDirectory } from "../../src/io/create-directory.ts";
import { createRandom } from "../../src/math/random.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { writeConfig } from "../../src/model/config-file.ts";
import { convertModel, type Precision } from "../../src/model/convert.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { fromT5File, T5File } from "../../src/model/t5-form.ts";

/** Sizes of google/t5-v1_1-*. The authors' checkpoints are `large`, 783 million parameters. */
const SHAPES = {
  small: { modelSize: 512, heads: 6, feedForwardSize: 1024, layers: 8 },
  base: { modelSize: 768, heads: 12, feedForwardSize: 2048, layers: 12 },
  large: { modelSize: 1024, heads: 16, feedForwardSize: 2816, layers: 24 },
} as const;

export type ShapeName = keyof typeof SHAPES;

export const SHAPE_NAMES = Object.keys(SHAPES) as ShapeName[];

/** Where the models are made, unless a command says otherwise. */
export const RANDOM_MODELS: string = join(tmpdir(), "reatt-random-models");

const NOISE = 2 ** 20 + 7; // drawn once: drawing every weight of `large` takes minutes

/** The folder of a random model in `parent`. It is made at the first call. */
export async function randomModel(
  parent: string,
  shape: ShapeName,
  precision: Precision,
): Promise<string> {
  const folder = join(parent, `${shape}-${precision}`);
  if (await isComplete(folder)) return folder;
  process.stderr.write(`writing ${folder} ...\n`);
  if (precision === "fp32") await writeModel(folder, configOf(shape));
  else await convertModel(await randomModel(parent, shape, "fp32"), { out: folder, precision });
  return folder;
}

async function writeModel(folder: string, config: ModelConfig): Promise<void> {
  await createDirectory(folder);
  const random = createRandom("memory benchmark");
  const noise = Float32Array.from({ length: NOISE }, () => 2 * random.next() - 1);
  let used = 0;
  /** Uniform with variance 1 / columns: activations neither vanish nor explode. */
  const draw = ([rows, columns]: readonly number[]): Float32Array => {
    const values = new Float32Array(rows! * (columns ?? 1));
    if (columns === undefined) return values.fill(1); // a norm
    const width = Math.sqrt(3 / columns);
    for (let i = 0; i < values.length; i++) values[i] = width * noise[(used + i) % NOISE]!;
    used += values.length;
    return values;
  };
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, { shape, values: async () => draw(shape) }] as const,
  );
  await writeWeights(folder, new Map(tensors), { dtype: "F32" });
  await copyFile(join(EMBEDDED_MODEL, "spiece.model"), join(folder, "spiece.model"));
  await writeConfig(folder, config);
}

function configOf(shape: ShapeName): ModelConfig {
  const { layers, modelSize, heads, feedForwardSize } = SHAPES[shape];
  const file = T5File.parse({
    ...{
      vocab_size: 32_128,
      d_model: modelSize,
      d_kv: 64,
      num_heads: heads,
      d_ff: feedForwardSize,
    },
    ...{ num_layers: layers, feed_forward_proj: "gated-gelu", tie_word_embeddings: false },
    ...{ dropout_rate: 0, retrieval_layer: layers / 2 },
  });
  return fromT5File(file);
}
