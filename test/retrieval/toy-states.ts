/** States of passages for the tests of indexes that hold them. */

import * as assert from "uvu/assert";
import type { IndexHeader } from "../../src/retrieval/index/format/manifest.ts";
import { packStates } from "../../src/retrieval/index/format/packed-states.ts";
import type { BuildOptions } from "../../src/retrieval/index/write/build.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import type { Passage } from "../../src/text/passage.ts";
import { encode, header, noise } from "./support.ts";

const SIZE = 5;

export const statesHeader: IndexHeader = {
  ...header,
  states: { fingerprint: "toy states", size: SIZE },
};

/** One row more than the passage has words: a pruned index has fewer keys than states, too. */
export function toyStates({ text }: Pick<Passage, "text">): Float32Array {
  const seed = [...text].reduce(
    (sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0,
    7,
  );
  return noise((text.split(" ").length + 1) * SIZE, seed);
}

type Encode = BuildOptions["encode"];

/** An encoder that also adds the states of its passages. */
export const addingStates =
  (makeKeys: (passages: readonly Passage[]) => ReturnType<Encode> = encode): Encode =>
  async (passages, _onProgress, { add }) => {
    const keys = await makeKeys(passages);
    const positions = passages.map((_, i) => i);
    add(
      positions,
      keys,
      passages.map((passage) => packStates(toyStates(passage), SIZE)),
    );
    return keys;
  };

/** Compares the states of all passages with those that were added, which fp16 has rounded. */
export async function checkStates(index: IndexGeneration): Promise<void> {
  for await (const [ordinal, passage] of index.entries()) {
    const [stored] = (await index.states([ordinal]))!;
    const expected = toyStates(passage);
    const states = stored!.unpack();
    assert.is(stored!.tokens * SIZE, expected.length, passage.id);
    assert.is(states.length, expected.length);
    const isClose = states.every((x, i) => Math.abs(x - expected[i]!) <= 2 ** -12);
    assert.ok(isClose, passage.id);
  }
}
