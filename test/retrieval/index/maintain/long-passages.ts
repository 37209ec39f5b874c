/** A corpus whose keys are compressed in three pieces: for compression.test.ts and the process that it kills. */

import type { BuildOptions } from "../../../../src/retrieval/index/write/build.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { encodeVaried, makePassages } from "../../support.ts";

const SHORT = makePassages(600);
/** Above half a piece: two of them never share one. */
const LONG_TOKENS = 8200;

/** 600 passages of some 6 tokens, but for number 100, 300 and 500: pieces end where two of these would be in one. */
export const CORPUS: readonly Passage[] = SHORT.map((passage, i) =>
  [100, 300, 500].includes(i)
    ? {
        ...passage,
        text: Array.from({ length: LONG_TOKENS }, (_, token) => `w${token % 50}`).join(" "),
      }
    : passage,
);

export const COMPRESSED: Partial<BuildOptions> = { encode: encodeVaried, bits: 2 };
