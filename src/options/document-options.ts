/** The options of reading documents: how they are split into passages. */

import { z } from "zod";
import { choice, flag, integer, option, text, withDerivedDefault } from "./option.ts";

const DOCUMENTS = "Documents";

/** Words of a passage, as in DPR. */
const PASSAGE_WORDS = 100;

/** Which files of a folder are read. They are in the file of collections, so there is no flag. */
const PATTERNS = {
  /** Patterns as in a `.gitignore`; only files that match one are read. Default: all files. */
  include: option(z.array(text()).readonly().optional(), { help: "files to read", flag: false }),
  /** Patterns as in a `.gitignore`; files that match one are left out. Default: none. */
  ignore: option(z.array(text()).readonly().optional(), {
    help: "files to leave out",
    flag: false,
  }),
};

export const DOCUMENT_OPTIONS = {
  ...PATTERNS,
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
   * Splits long passages of JSON Lines too. Default false: they stay as they are, and are encoded
   * in windows.
   */
  splitRecords: option(flag().default(false), {
    help: "split long passages of JSON Lines too",
    group: DOCUMENTS,
  }),
  /**
   * The encoding of texts that have no byte order mark, by a name of the Encoding Standard, such as
   * `shift_jis`. Default: the one that the file names, else a guess.
   */
  encoding: option(text().optional(), {
    help: "encoding of texts, such as windows-1252",
    group: DOCUMENTS,
    defaultText: "as the file says, or a guess",
  }),
  /** Whether the first row of a table names its columns. Default `auto`: its cells decide. */
  tableHeader: option(choice("auto", "yes", "no").default("auto"), {
    help: "whether the first row of a table names the columns",
    group: DOCUMENTS,
  }),
};

const AS_BEFORE = "as the folder was split before, or";

/** The options of splitting for an index that is kept in step with a folder. */
export const SYNC_OPTIONS = {
  /** Patterns of the files that are read. Default: those of the last time, or all files. */
  include: PATTERNS.include,
  /** Patterns of the files that are left out. Default: those of the last time, or none. */
  ignore: PATTERNS.ignore,
  /** Words of a passage. Default: as the folder was split before, or 100. */
  passageWords: withDerivedDefault(DOCUMENT_OPTIONS.passageWords, `${AS_BEFORE} ${PASSAGE_WORDS}`),
  /** Words that a passage repeats. Default: as the folder was split before, or 0. */
  overlapWords: withDerivedDefault(DOCUMENT_OPTIONS.overlapWords, `${AS_BEFORE} 0`),
  /** The encoding of texts. Default: as the folder was read before, or as the file says. */
  encoding: DOCUMENT_OPTIONS.encoding,
  /** Whether the first row of a table names its columns. Default: as before, or by its cells. */
  tableHeader: withDerivedDefault(
    DOCUMENT_OPTIONS.tableHeader,
    "as the folder was read before, or auto",
  ),
};

/** What a synchronisation may do to the index. */
export const DELETE_OPTIONS = {
  /**
   * Whether more than half of the passages that the index has of the source may be deleted, because
   * their files are gone or empty. Default false: the call fails, since a folder whose disk is not
   * mounted looks the same.
   */
  delete: option(flag().default(false), {
    help: "also delete more than half of the passages, whose files are gone or empty",
  }),
};

type Choices<Options extends object> = Pick<Options, keyof Options & keyof typeof DOCUMENT_OPTIONS>;

/** The options of reading documents among others, and the others. */
export function splitChoices<Options extends object>(
  options: Options,
): [choices: Choices<Options>, others: Omit<Options, keyof typeof DOCUMENT_OPTIONS>] {
  const isChoice = ([name]: [string, unknown]): boolean => Object.hasOwn(DOCUMENT_OPTIONS, name);
  const entries = Object.entries(options);
  return [
    Object.fromEntries(entries.filter(isChoice)) as Choices<Options>,
    Object.fromEntries(entries.filter((entry) => !isChoice(entry))) as Omit<
      Options,
      keyof typeof DOCUMENT_OPTIONS
    >,
  ];
}
