/**
 * The options of a search and of an answer. The library's methods, the flags of the commands, the
 * bodies of HTTP requests and the tools for assistants are made from these tables. An option is
 * named here and in the code that uses it; a test fails until `server/service/requests.ts` says
 * what clients and assistants may give of it.
 */

import { z } from "zod";
import { LANGUAGES } from "../text/languages.ts";
import { choice, flag, integer, number, option, path } from "./option.ts";

export const HYBRID = "Hybrid search";
const READING = "Reading";

/** Passages that `retrieve` returns, as in the release. */
export const PASSAGES_RETRIEVED = 100;
/** Passages that `answer` reads, as in the release, unless the model stores another number. */
export const PASSAGES_READ = 10;
/** Passages that `answer` returns, unless it reads more. */
export const PASSAGES_RETURNED = 5;

/** How passages are read: `ANSWER_OPTIONS.reader`. */
export const READERS = ["fusion", "marginal"] as const;

/** The parameters of BM25. */
export const BM25_OPTIONS = {
  /** Saturation of term frequency; with 0, repetitions of a term do not count. Default 0.9. */
  k1: option(number({ from: 0 }).optional(), {
    help: "saturation of term frequency in BM25",
    defaultText: "0.9",
    group: HYBRID,
  }),
  /** Length normalisation, from 0 (none) to 1. Default 0.4. */
  b: option(number({ from: 0, to: 1 }).optional(), {
    help: "length normalisation in BM25",
    defaultText: "0.4",
    group: HYBRID,
  }),
};

/** The language of the words that BM25 compares. */
export const LANGUAGE = {
  /**
   * The language whose words are stemmed, by its code of ISO 639-1. Default: that of the first
   * passages. Words of other scripts than its own are stemmed in the language that they are in.
   */
  language: option(choice(...LANGUAGES).optional(), {
    help: "language of the words that BM25 stems",
    defaultText: "that of the first passages",
    group: HYBRID,
  }),
};

/** How BM25 and the model are combined. */
export const HYBRID_OPTIONS = {
  /** The weight of the model's retrieval score: 0 or more; `reatt benchmark --tune` finds it. */
  lambda: option(number({ from: 0 }), {
    help: "rank by BM25 / terms of the question + X x retrieval score; reatt benchmark DIR --tune finds X",
    group: HYBRID,
  }),
  ...BM25_OPTIONS,
};

/** How passages are found. */
export const RANK_OPTIONS = {
  /** Number of passages or documents. Default 100 for `retrieve` and 5 for `answer`. */
  topK: option(integer(1).default(PASSAGES_RETRIEVED), {
    help: "passages, or documents, for each question",
  }),
  /** No passage with a lower score. Default: every score. */
  minScore: option(z.number("a number").optional(), {
    help: "no passage with a lower score",
    defaultText: "every score",
  }),
  /**
   * Whether copies of a better passage, and versions of it that hardly differ, share its place:
   * they are its `duplicates`. Default: true for `answer` and `context`, false for `retrieve`.
   */
  distinct: option(flag().default(false), {
    help: "near-duplicates of a better passage share its place",
  }),
  /** Whether passages have the raw scores behind their score (`scores`). Default: false. */
  explain: option(flag().default(false), { help: "the raw scores of passages too" }),
  /**
   * What a result is: a passage, or a document with its best passage. Passages of one document
   * count once. Default `passage`.
   */
  granularity: option(choice("passage", "document").default("passage"), {
    help: "document: passages of one document (or title) count once, with the best score",
  }),
};

/** How many of the passages that a search finds are read. */
export const READ_TOP_K = {
  /** Number of the best passages to read. Default: that of the model (`readTopK`), else 10. */
  readTopK: option(integer(1).optional(), {
    help: "passages to read: the best ones",
    defaultText: `as many as the model stores, else ${PASSAGES_READ}`,
    group: READING,
  }),
};

/** What the documents lack, for their owner. */
export const UNANSWERED = {
  /**
   * A file of this machine to which each question is appended that has neither an answer nor
   * evidence, with its time, as a line of JSON. Nothing is sent. Default: none is written.
   */
  unansweredFile: option(path().optional(), {
    help: "append questions that no block answers, with their time, to this local file",
    placeholder: "FILE.jsonl",
    defaultText: "none is written",
    group: READING,
  }),
};

/** How answers are generated. */
export const ANSWER_OPTIONS = {
  /**
   * How passages are read. `fusion` (default) reads all passages together (fusion-in-decoder).
   * `marginal` reads each passage alone, and none, and sums over them the probability of an answer:
   * P(y | x) = sum over z of P(y | x, z) P(z | x) (REALM, Eq. 1). It takes several times as long.
   */
  reader: option(choice(...READERS).default("fusion"), {
    help: "fusion: read all passages together; marginal: one by one, and sum the probabilities",
    group: READING,
  }),
  /**
   * Limit for question and passage together. It cuts longer passages, as the release does. Default:
   * no limit of this kind; long passages are read in windows.
   */
  maxInputTokens: option(integer(4).optional(), {
    help: "length limit of question and passage together",
    defaultText: "the limit of the index for the passage",
    group: READING,
  }),
  /** Length limit of an answer, in tokens. Default 50. */
  maxAnswerTokens: option(integer(1).default(50), {
    help: "length limit of an answer",
    group: READING,
  }),
  /**
   * Whether every answer is a quotation of a passage that was read, or of its title. It neither
   * begins nor ends inside a word, a number or an address. Default: what the model stores
   * (`extractive`), else false.
   */
  extractive: option(flag().optional(), {
    help: "write only what stands in a passage",
    defaultText: "true if the model says so",
    group: READING,
  }),
  /**
   * The model abstains if its confidence is lower; 0 means never. Default: the threshold of the
   * calibration that the model stores, if any, else 0; with the reader `marginal` always 0.
   */
  minimumConfidence: option(number({ from: 0, to: 1 }).optional(), {
    help: "show no answer and no block that is less probable; 0 shows all",
    defaultText: "the thresholds that the model stores, if any, else 0",
    group: READING,
  }),
};
