/**
 * The public API of `reatt`. Training and adaptation are in `reatt/training`.
 *
 * @module reatt
 */

export { InputError, type Problem } from "./io/errors.ts";
export type { ModelConfig } from "./model/config.ts";
export {
  type AddOptions,
  type AnswerOptions,
  type Evidence,
  type Hit,
  type IndexOptions,
  type LoadOptions,
  ReAtt,
  type ReadOptions,
  type Reply,
  type RetrieveOptions,
} from "./reatt.ts";
export type { Bm25Parameters } from "./retrieval/bm25/bm25.ts";
export type { InvertedIndexOptions } from "./retrieval/bm25/inverted-index.ts";
export { type LexicalIndex, openLexicalIndex } from "./retrieval/bm25/lexical-index.ts";
export type { Bits } from "./retrieval/codec/codec.ts";
export type { FaissFactory } from "./retrieval/faiss/faiss-factory.ts";
export type { HybridOptions } from "./retrieval/hybrid.ts";
export type { IndexHeader, ShardRecord } from "./retrieval/index/format/manifest.ts";
export {
  compactIndex,
  type MergeOptions,
  mergeShards,
} from "./retrieval/index/maintain/compact.ts";
export { type IndexInfo, indexInfo } from "./retrieval/index/maintain/info.ts";
export { deletePassages } from "./retrieval/index/maintain/update.ts";
export { type Damage, verifyIndex } from "./retrieval/index/maintain/verify.ts";
export type { BuildProgress } from "./retrieval/index/write/build.ts";
export type { BuildForecast } from "./retrieval/index/write/forecast.ts";
export {
  exportToLance,
  type LanceExportOptions,
  type LanceExportProgress,
} from "./retrieval/lance/lance-export.ts";
export type { LanceTable } from "./retrieval/lance/lance-search.ts";
export type { Engine, OpenOptions, PresetName } from "./retrieval/open-index.ts";
export type { Granularity } from "./retrieval/rank.ts";
export type { SearchHit, SearchOptions, TokenIndex } from "./retrieval/search/token-index.ts";
export type { FillProgress } from "./retrieval/search/token-search.ts";
export type { Provider } from "./tensor/session.ts";
export type { Span } from "./text/answer-span.ts";
export type { Passage } from "./text/passage.ts";
export { type Question, readPassages, readQuestions } from "./text/read-passages.ts";
export type { Tokenizer } from "./text/tokenizer.ts";
