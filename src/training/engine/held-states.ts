/**
 * States of texts after the layers that a run leaves as they are (objectives/held-layers.ts). They
 * are computed once for each text, without dropout, and held as long as memory allows.
 */

import { freemem } from "node:os";
import { batchesByLength, padBatch, TOKENS_PER_BATCH } from "../../encoder/batching.ts";
import { StateCache } from "../../encoder/state-cache.ts";
import type { ModelConfig } from "../../model/config.ts";
import { inferenceContext } from "../../model/layers/context.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import { buildParameters } from "../../model/parameter-names.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { compile, type Session } from "../../tensor/session.ts";
import { type Graph, trace } from "../../tensor/trace.ts";
import type { Chunk } from "../gradient-cache/chunks.ts";
import type { ChunkStates } from "../gradient-cache/gradient-cache.ts";
import { type HeldLayers, heldLayers, heldWidth, statesAfter } from "../objectives/held-layers.ts";
import type { NamedTensor } from "../objectives/token-batch.ts";
import type { Trained } from "../objectives/trained-parameters.ts";
import type { ParameterState } from "./optimizer.ts";

/** Bytes that the states of a run can take: a quarter of the free memory. */
const memoryLimit = (): number => freemem() / 4;

export interface HeldStates extends ChunkStates, AsyncDisposable {}

/** Bytes that the states of this many tokens take, at most. */
export const heldStatesBytes = ({ modelSize }: ModelConfig, tokens: number): number =>
  Math.min(memoryLimit(), tokens * modelSize * Float32Array.BYTES_PER_ELEMENT);

/** @param parameters as they are now: later changes of other layers have no effect */
export function openHeldStates(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  { names }: Trained,
): HeldStates {
  const encoders = new Map<HeldLayers, Encoder>();
  const encoderOf = (layers: HeldLayers): Encoder => {
    const known = encoders.get(layers) ?? openEncoder(config, parameters, layers);
    encoders.set(layers, known);
    return known;
  };
  return {
    layers: (isRead) => heldLayers(config, names, isRead),
    async withStates(chunk, layers) {
      const encoder = encoderOf(layers);
      const { questionIds, questionMask, passageIds, passageMask } = chunk.tensors;
      const passageStates = await encoder.statesOf(passageIds!, passageMask!);
      // The queries of a query encoder come from layers of their own.
      const questionStates = config.queryEncoder
        ? {}
        : { questionStates: await encoder.statesOf(questionIds!, questionMask!) };
      return withTensors(chunk, { ...questionStates, passageStates });
    },
    async [Symbol.asyncDispose]() {
      for (const encoder of encoders.values()) await encoder[Symbol.asyncDispose]();
    },
  };
}

const withTensors = (chunk: Chunk, tensors: Chunk["tensors"]): Chunk => ({
  ...chunk,
  tensors: { ...chunk.tensors, ...tensors },
});

interface Encoder extends AsyncDisposable {
  /** The states of the rows of `ids`: -> [rows, length, width]. */
  statesOf(ids: NamedTensor, mask: Tensor): Promise<NamedTensor>;
}

function openEncoder(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  layers: HeldLayers,
): Encoder {
  const weights = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const session = compile(traceStates(config, layers), { weights });
  const width = heldWidth(config, layers);
  const cache = new StateCache(memoryLimit());
  return {
    async statesOf(ids, mask) {
      const encoded = await cache.statesOf(tokenRows(ids, mask), async (missing) =>
        encode(await session, config, missing, width),
      );
      const axes = [...ids.axes, width];
      return { ...padded(encoded, mask, width), axes };
    },
    [Symbol.asyncDispose]: async () => (await session)[Symbol.asyncDispose](),
  };
}

/** -> `states` */
const traceStates = (config: ModelConfig, layers: HeldLayers): Graph =>
  trace(
    {
      ids: ["int32", "batch", "length"],
      mask: ["float32", "batch", "length"],
      buckets: ["int32", "length", "length"],
    },
    (tracer, input) => {
      const model = buildParameters(config, (name, shape) => tracer.parameter(name, shape));
      return { states: statesAfter(inferenceContext(tracer, config), model, input, layers) };
    },
  );

/** The states of sequences, each without padding: [length, width]. */
async function encode(
  session: Session,
  config: ModelConfig,
  sequences: readonly (readonly number[])[],
  width: number,
): Promise<Float32Array[]> {
  const encoded = new Array<Float32Array>(sequences.length);
  const lengths = sequences.map(({ length }) => length);
  for (const places of batchesByLength(lengths, TOKENS_PER_BATCH)) {
    const together = places.map((place) => sequences[place]!);
    const { ids, mask } = padBatch(together, "right", config.padId);
    const length = ids.shape[1]!;
    const buckets = positionBuckets(config, "encoder", length);
    const { states } = await session.run({ ids, mask, buckets });
    for (const [row, place] of places.entries()) {
      const start = row * length * width;
      const end = start + lengths[place]! * width;
      encoded[place] = (states!.data as Float32Array).slice(start, end);
    }
  }
  return encoded;
}

/** The rows of `ids` without padding. */
function tokenRows({ data: ids, shape }: Tensor, { data: mask }: Tensor): number[][] {
  const [rows, length] = shape as [number, number];
  return Array.from({ length: rows }, (_, row) =>
    Array.from(ids.subarray(row * length, (row + 1) * length)).filter(
      (_, i) => mask[row * length + i] === 1,
    ),
  );
}

/** States of rows without padding, at the places of their tokens: -> [rows, length, size]. */
function padded(
  states: readonly Float32Array[],
  { data: mask, shape }: Tensor,
  size: number,
): Tensor {
  const [rows, length] = shape as [number, number];
  const data = new Float32Array(rows * length * size);
  states.forEach((own, row) => {
    const first = mask.indexOf(1, row * length);
    data.set(own, first * size);
  });
  return { data, shape: [rows, length, size] };
}
