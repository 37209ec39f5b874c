/** Dimensions of a token's state that the circuits of construct-start.ts use. `d_model` is 256. */

/** The dimensions before this one hold the word vector. */
export const CONTENT = 250;
/** The same for every token. */
export const CONSTANT = 250;
/** About 1 in a question, -3 in a passage. */
export const SEGMENT = 251;
/** Of a passage token: from about -1 to 1 if the question has an equal token. */
export const MATCHED = 252;
/** The mean of MATCHED over neighbouring tokens, stretched. */
export const NEAR = 253;
/** Of the word vectors: how frequent a word is, from 0 to about 14. */
export const FREQUENT = 254;
/** Of the word vectors: whether a word starts with a capital. */
export const CAPITAL = 255;
