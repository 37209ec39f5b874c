/**
 * States of texts for runs that train the retrieval head alone. The layers below the head do not
 * change in such a run, so the states of a text are computed once and held, as long as memory
 * allows. A step then takes little more than the scores of its passages.
 */

import { freemem } from "node:os";
import { encodeSequences, openRetrieverSession } from "../../encoder/retriever-session.ts";
import { StateCache } from "../../encoder/state-cache.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import type { ParameterState } from "./optimizer.ts";

/** Share of the free memory that the states of a run can take. */
const MEMORY_SHARE = 0.25;

/** Computes the inputs `questionStates` and `passageStates` of chunks. */
export interface FixedStates extends AsyncDisposable {
  /** The chunk with states of its questions and passages. */
  withStates(chunk: Chunk): Promise<Chunk>;
}

/** @param parameters as they are now: later changes of the retrieval head have no effect */
export async function openFixedStates(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
): Promise<FixedStates> {
  const weights = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const session = await openRetrieverSession(config, { weights });
  const cache = new StateCache(MEMORY_SHARE * freemem());
  const statesOf = async (ids: Tensor, mask: Tensor): Promise<Tensor> => {
    const encoded = await cache.statesOf(tokenRows(ids, mask), (missing) =>
      encodeSequences(session, config, missing, "states"),
    );
    return padded(encoded, mask, config.modelSize);
  };
  return {
    async withStates(chunk) {
      const { questionIds, questionMask, passageIds, passageMask } = chunk.tensors;
      const questionStates = await statesOf(questionIds, questionMask);
      const passageStates = await statesOf(passageIds, passageMask);
      const tensors = { ...chunk.tensors, questionStates, passageStates };
      return { ...chunk, stateSize: config.modelSize, tensors };
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
