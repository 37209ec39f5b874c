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
import { buildParameters } from "./parameter-names.ts";
import type {
  DecoderParameters,
  EncoderBlockParameters,
  FeedForwardParameters,
} from "./parameters.ts";

/** The names of a norm and of all matrices that read its output. */
interface NormedMatrices {
  readonly norm: string;
  readonly matrices: readonly string[];
}

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
    normedMatrices(config).flatMap((group) =>
      [group.norm, ...group.matrices].map((name) => [name, group] as const),
    ),
  );
  const known = new Map<NormedMatrices, Float32Array>();
  return async (name) => {
    const group = groups.get(name);
    const values = await read(name);
    if (!group) return values;
    const factors = known.get(group) ?? (await columnFactors(group, config.modelSize, read));
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

function normedMatrices(config: ModelConfig): NormedMatrices[] {
  const { encoder, queryEncoder, decoder } = buildParameters(config, (name) => name);
  const ofEncoder = (block: EncoderBlockParameters<string>): NormedMatrices[] => {
    const { query, key, value } = block.attention;
    return [
      { norm: block.attentionNorm, matrices: [query, key, value] },
      { norm: block.feedForwardNorm, matrices: firstMatrices(block.feedForward) },
    ];
  };
  const ofDecoder = decoder.blocks.flatMap((block) => {
    const { query, key, value } = block.selfAttention;
    return [
      { norm: block.selfAttentionNorm, matrices: [query, key, value] },
      { norm: block.crossAttentionNorm, matrices: [block.crossAttention.query] },
      { norm: block.feedForwardNorm, matrices: firstMatrices(block.feedForward) },
    ];
  });
  const groups = [
    ...encoder.blocks.flatMap(ofEncoder),
    { norm: encoder.finalNorm, matrices: crossMatrices(decoder) },
    ...ofDecoder,
  ];
  if (!config.queryEncoder) return groups;
  const { attentionNorm, attention } = queryEncoder.blocks[config.retrievalLayer]!;
  return [
    ...groups,
    ...queryEncoder.blocks.slice(0, config.retrievalLayer).flatMap(ofEncoder),
    { norm: attentionNorm, matrices: [attention.query] }, // the rest belongs to the encoder
  ];
}

const crossMatrices = ({ blocks }: DecoderParameters<string>): string[] =>
  blocks.flatMap(({ crossAttention: { key, value } }) => [key, value]);

const firstMatrices = (layer: FeedForwardParameters<string>): string[] =>
  layer.kind === "gated-gelu" ? [layer.gate, layer.inner] : [layer.inner];
