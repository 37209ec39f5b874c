/** Model folders of the sizes of T5 v1.1 with random weights: their memory and times are real. */

import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeWeights } from "../../src/checkpoints/write-weights.ts";
import { isComplete } from "../../src/hub/model-files.ts";
import { EMBEDDED_MODEL } from "../../src/hub/model-name.ts";
import { createDirectory } from "../../src/io/create-directory.ts";
import { createRandom } from "../../src/math/random.ts";
import { type ModelConfig, writeConfig } from "../../src/model/config.ts";
import { convertModel, type Precision } from "../../src/model/convert.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";

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
  const { layers, ...sizes } = SHAPES[shape];
  return {
    ...sizes,
    vocabularySize: 32_128,
    headSize: 64,
    encoderLayers: layers,
    decoderLayers: layers,
    feedForward: "gated-gelu",
    tied: false,
    relativeBuckets: 32,
    relativeMaxDistance: 128,
    layerNormEpsilon: 1e-6,
    dropoutRate: 0,
    padId: 0,
    eosId: 1,
    decoderStartId: 0,
    retrievalLayer: layers / 2,
    retrievalHead: 0,
    retrievalHeads: 1,
    distillationTau: 0.001,
    retrievalScale: 1,
    queryEncoder: false,
    copying: false,
    noRepeatSize: 0,
  };
}
