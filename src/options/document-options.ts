/** The options of reading documents: how they are split into passages. */

import { flag, integer, option, withDerivedDefault } from "./option.ts";

const DOCUMENTS = "Documents";

/** Words of a passage, as in DPR. */
const PASSAGE_WORDS = 100;

export const DOCUMENT_OPTIONS = {
  /** Words of a passage that a document is split into, its title not counted. Default 100. */
  passageWords: option(integer(10, 100_000).default(PASSAGE_WORDS), {
    help: "words of a passage that a document is split into",
    group: DOCUMENTS,
  }),
  /** Words that a passage repeats from the end of the passage before. Default 0. */
  overlapWords: option(integer(0, 100_000).default(0), {
    help: "words that a passage repeats from the one before",
    group: DOCUMENTS,
  }),
  /**
   * Splits long passages of JSON Lines too. Default false: they stay as they are, and what is over
   * the model's limit is cut and counted.
   */
  splitRecords: option(flag().default(false), {
    help: "split long passages of JSON Lines too",
    group: DOCUMENTS,
  }),
};

const AS_BEFORE = "as the folder was split before, or";

/** The options of splitting for an index that is kept in step with a folder. */
export const SYNC_OPTIONS = {
  /** Words of a passage. Default: as the folder was split before, or 100. */
  passageWords: withDerivedDefault(DOCUMENT_OPTIONS.passageWords, `${AS_BEFORE} ${PASSAGE_WORDS}`),
  /** Words that a passage repeats. Default: as the folder was split before, or 0. */
  overlapWords: withDerivedDefault(DOCUMENT_OPTIONS.overlapWords, `${AS_BEFORE} 0`),
};
