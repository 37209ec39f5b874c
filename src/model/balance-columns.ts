/**
 * Balances the columns of matrices before they are rounded to 8 bits: SmoothQuant (Xiao et al.
 * 2022, https://arxiv.org/abs/2211.10438) without calibration data.
 *
 * Matrices W behind one norm have the same input `x = g n`, with the weights g of the norm. For any
 * factors f, `W x = (W / f) (f g n)`: the model stays the same. Columns of W that are larger than
 * others make the steps of its rows coarse, and dimensions of x that are larger those of x. With
 *
 *     f[j] = sqrt(max_i |W[i, j]|)
 *
 * the columns of W differ less, and dimensions of x are smaller where W needs them least.
 */

import type { ModelConfig } from "./config.ts";
import type { NormedMatrices } from "./layers/layer-kind.ts";
import { normedMatrices } from "./layers/stacks.ts";
import { firstMatrices } from "./layers/t5.ts";
import { parameterNames, parameterShapes } from "./parameter-names.ts";
import type { DecoderParameters } from "./parameters.ts";

/**
 * Reads weights with balanced columns, by their names in the checkpoint.
 *
 * @param read reads a weight of the model
 */
export function balanceColumns(
  config: ModelConfig,
  read: (name: string) => Promise<Float32Array>,
): (name: string) => Promise<Float32Array> {
  const groups = new Map(
    groupsOf(config).flatMap((group) =>
      [group.norm, ...group.matrices].map((name) => [name, group] as const),
    ),
  );
  const shapes = parameterShapes(config);
  const known = new Map<NormedMatrices, Float32Array>();
  return async (name) => {
    const group = groups.get(name);
    const values = await read(name);
    if (!group) return values;
    const factors =
      known.get(group) ?? (await columnFactors(group, shapes.get(group.norm)![0]!, read));
    known.set(group, factors);
    if (name === group.norm) return values.map((value, j) => value * factors[j]!);
    return values.map((value, i) => value / factors[i % factors.length]!);
  };
}

async function columnFactors(
  { matrices }: NormedMatrices,
  columns: number,
  read: (name: string) => Promise<Float32Array>,
): Promise<Float32Array> {
  const largest = new Float32Array(columns);
  for (const name of matrices)
    (await read(name)).forEach((value, i) => {
      const column = i % columns;
      largest[column] = Math.max(largest[column]!, Math.abs(value));
    });
  return largest.map((value) => (value === 0 ? 1 : Math.sqrt(value)));
}

/** The groups of the whole model, each norm once. */
function groupsOf(config: ModelConfig): NormedMatrices[] {
  const { shared, retrieval, joint, finalNorm, decoder, querySide } = parameterNames(config);
  const stacks = [shared, retrieval, joint, querySide.shared, querySide.retrieval].flat();
  const { norm, query } = querySide.heads; // the key projection belongs to the encoder
  const groups = [
    ...stacks.flatMap(normedMatrices),
    { norm: finalNorm, matrices: crossMatrices(decoder) },
    ...ofDecoder(decoder),
    ...(config.queryEncoder && norm ? [{ norm, matrices: [query.weight] }] : []),
  ];
  return [...new Map(groups.map((group) => [group.norm, group])).values()];
}

const ofDecoder = ({ layers }: DecoderParameters<string>): NormedMatrices[] =>
  layers.flatMap((layer) => {
    const { query, key, value } = layer.selfAttention;
    return [
      { norm: layer.selfAttentionNorm, matrices: [query, key, value] },
      { norm: layer.crossAttentionNorm, matrices: [layer.crossAttention.query] },
      { norm: layer.feedForwardNorm, matrices: firstMatrices(layer.feedForward) },
    ];
  });

const crossMatrices = ({ layers }: DecoderParameters<string>): string[] =>
  layers.flatMap(({ crossAttention: { key, value } }) => [key, value]);
