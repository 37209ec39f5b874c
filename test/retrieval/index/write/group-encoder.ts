/**
 * An encoder that makes the keys and states of a window in groups, as a model does, for tests of
 * resume.
 */

import { packStates } from "../../../../src/retrieval/index/format/packed-states.ts";
import type { BuildOptions } from "../../../../src/retrieval/index/write/build.ts";
import { encodeVaried, makePassages } from "../../support.ts";
import { statesHeader, toyStates } from "../../toy-states.ts";

/** Two windows. */
export const CORPUS = makePassages(900);
export const GROUP = 32;

export interface GroupEncoder extends Pick<BuildOptions, "encode" | "header"> {
  /** The number of passages that it has encoded. */
  encoded(): number;
}

export function groupEncoder({
  onGroup,
  signal,
}: {
  readonly onGroup?: (groups: number) => void | Promise<void>;
  readonly signal?: AbortSignal;
} = {}): GroupEncoder {
  let encoded = 0;
  let groups = 0;
  return {
    header: statesHeader,
    encoded: () => encoded,
    async encode(window, onProgress, { known, add }) {
      const keys = window.map((_, i) => known.get(i));
      // by length, so that a group holds passages from the whole window
      const order = window.map((_, i) => i).sort((a, b) => length(b) - length(a));
      function length(i: number): number {
        return window[i]!.text.length;
      }
      for (let start = 0; start < order.length; start += GROUP) {
        signal?.throwIfAborted();
        const group = order.slice(start, start + GROUP);
        if (keys[group[0]!]) continue;
        const made = await encodeVaried(group.map((i) => window[i]!));
        group.forEach((i, row) => {
          keys[i] = made[row];
        });
        const states = group.map((i) =>
          packStates(toyStates(window[i]!), statesHeader.states!.size),
        );
        add(group, made, states);
        encoded += group.length;
        onProgress(start + group.length, 0);
        await onGroup?.(++groups);
      }
      return keys as Float32Array[];
    },
  };
}
