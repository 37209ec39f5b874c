/**
 * States of texts after the layers that a run leaves as they are: all below the head in a run that
 * trains the retrieval head alone, or the layers that retrieval shares with reading
 * (`keepsSharedLayers`). They are computed once for each text and held, as long as memory allows.
 */

import { freemem } from "node:os";
import { encodeSequences, openRetrieverSession } from "../../encoder/retriever-session.ts";
import { StateCache } from "../../encoder/state-cache.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import type { ParameterState } from "./optimizer.ts";

/** Bytes that the states of a run can take: a quarter of the free memory. */
const memoryLimit = (): number => freemem() / 4;

/** The layers whose states are held: those that reading shares, or all below the head. */
export type FixedLayers = "shared" | "lower";

/** Adds to chunks their `StateInput` or their `SharedStates` (loss/graph-inputs.ts). */
export interface FixedStates extends AsyncDisposable {
  /** The chunk with states of its questions and passages. */
  withStates(chunk: Chunk): Promise<Chunk>;
}

/** Bytes that the states of this many tokens take, at most. */
export const fixedStatesBytes = ({ modelSize }: ModelConfig, tokens: number): number =>
  Math.min(memoryLimit(), tokens * modelSize * Float32Array.BYTES_PER_ELEMENT);

/** @param parameters as they are now: later changes of other layers have no effect */
export async function openFixedStates(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  layers: FixedLayers,
): Promise<FixedStates> {
  const weights = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const session = await openRetrieverSession(config, { weights });
  const cache = new StateCache(memoryLimit());
  const statesOf = async (ids: Tensor, mask: Tensor): Promise<Tensor> => {
    const encoded = await cache.statesOf(tokenRows(ids, mask), (missing) =>
      encodeSequences(session, config, missing, layers === "shared" ? "reading" : "states"),
    );
    return padded(encoded, mask, config.modelSize);
  };
  return {
    async withStates(chunk) {
      const { questionIds, questionMask, passageIds, passageMask } = chunk.tensors;
      const questions = await statesOf(questionIds, questionMask);
      const passages = await statesOf(passageIds, passageMask);
      const { modelSize } = config;
      const [sizes, states] =
        layers === "shared"
          ? [{ sharedSize: modelSize }, { questionShared: questions, passageShared: passages }]
          : [{ stateSize: modelSize }, { questionStates: questions, passageStates: passages }];
      return { ...chunk, ...sizes, tensors: { ...chunk.tensors, ...states } };
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
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
