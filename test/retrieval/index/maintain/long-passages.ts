/**
 * A corpus whose keys are compressed in three pieces, for compress.test.ts and the process that it
 * kills.
 */

import type { BuildOptions } from "../../../../src/retrieval/index/write/build.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { encodeVaried, makePassages } from "../../support.ts";

const SHORT = makePassages(600);
/** More than half a piece, so that no piece holds two such passages. */
const LONG_TOKENS = 8200;

/**
 * 600 passages of about 6 tokens. Numbers 100, 300 and 500 are long; a piece ends before a second
 * long passage.
 */
export const CORPUS: readonly Passage[] = SHORT.map((passage, i) =>
  [100, 300, 500].includes(i)
    ? {
        ...passage,
        text: Array.from({ length: LONG_TOKENS }, (_, token) => `w${token % 50}`).join(" "),
      }
    : passage,
);

export const COMPRESSED: Partial<BuildOptions> = { encode: encodeVaried, bits: 2 };
