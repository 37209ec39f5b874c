/**
 * The public API of `reatt`. Evaluation is in `reatt/evaluation`, documents and readers of your own
 * in `reatt/documents`, training and adaptation in `reatt/training`.
 *
 * @module reatt
 */

export type { Evidence } from "./decoder/evidence.ts";
export type { Source } from "./decoder/source.ts";
export type { ReadDocumentsOptions, SkippedFile } from "./documents/read-documents.ts";
export type { StoredStates } from "./encoder/state-cache.ts";
export type { DownloadProgress } from "./hub/download.ts";
export type { ErrorCode } from "./io/error-codes.ts";
export { InputError, type Problem } from "./io/errors.ts";
export {
  type AnswerCalibration,
  type AnswerSignals,
  calibratedConfidence,
  type SignalName,
} from "./model/answer-calibration.ts";
export type { BlockCalibration, BlockSignals } from "./model/block-calibration.ts";
export type {
  HybridWeights,
  ModelConfig,
  Pooling,
  RetrievalAttention,
  Similarity,
} from "./model/config.ts";
export { type ConvertOptions, convertModel } from "./model/convert.ts";
export type { HybridScale, ScoreCalibration, ScoreCurve } from "./model/score-calibration.ts";
export type { CalibratedSignal, SignalCalibration } from "./model/signal-calibration.ts";
export type { Stack } from "./model/stack.ts";
export type { PruningRule, TokenPruning } from "./model/token-pruning.ts";
export { readDocuments, splitDocuments } from "./reatt/documents.ts";
export {
  type AddOptions,
  type AnswerOptions,
  type Context,
  type ContextOptions,
  type ContextSource,
  type Duplicate,
  type Hit,
  type Indexes,
  type IndexOptions,
  type LoadOptions,
  type OpenIndex,
  type Phrase,
  type PhraseOptions,
  type RawScores,
  ReAtt,
  type ReadOptions,
  type ReadPassage,
  type RemoveOptions,
  type Reply,
  type Reranked,
  type RerankOptions,
  type Retrieval,
  type RetrieveOptions,
  type SyncOptions,
  type UpsertOptions,
  type UtilityOptions,
} from "./reatt.ts";
export type { Bm25Parameters, GivenParameters, ScoredId } from "./retrieval/bm25/bm25.ts";
export type { InvertedIndexOptions } from "./retrieval/bm25/inverted-index.ts";
export type { Bits } from "./retrieval/codec/codec.ts";
export type { ExplainedToken, Explanation, MatchedToken } from "./retrieval/explain.ts";
export type { FaissFactory } from "./retrieval/faiss/faiss-factory.ts";
export type { HybridOptions } from "./retrieval/hybrid.ts";
export type {
  CutText,
  IndexHeader,
  ModelPlace,
  ShardRecord,
  StatesHeader,
} from "./retrieval/index/format/manifest.ts";
export {
  type CompactOptions,
  compactIndex,
  type MergeOptions,
  mergeShards,
} from "./retrieval/index/maintain/compact.ts";
export type { ImportPart, IndexInfo, StatesInfo } from "./retrieval/index/maintain/info.ts";
export type { DeleteOptions } from "./retrieval/index/maintain/update.ts";
export type { Damage } from "./retrieval/index/maintain/verify.ts";
export type { BuildProgress } from "./retrieval/index/write/build.ts";
export type { BuildForecast } from "./retrieval/index/write/forecast.ts";
export {
  type LexicalIndex,
  type LexicalSearchOptions,
  openLexicalIndex,
} from "./retrieval/lexical-index.ts";
export { deletePassages, indexInfo, verifyIndex } from "./retrieval/maintain.ts";
export type { OpenOptions } from "./retrieval/open-index.ts";
export type { Engine, PresetName } from "./retrieval/places/folder/open-engine.ts";
export { joinIndexes } from "./retrieval/places/joined-index.ts";
export type { Granularity } from "./retrieval/rank.ts";
export type { IndexGeneration, SearchHit, SearchOptions } from "./retrieval/search/generation.ts";
export type { TokenMatch } from "./retrieval/search/passage-scorer.ts";
export type { TokenIndex } from "./retrieval/search/token-index.ts";
export type { FillProgress } from "./retrieval/search/token-search.ts";
export type { PhraseUnit } from "./retrieval/search-phrases.ts";
export { parseWhere } from "./retrieval/where/parse-where.ts";
export type { Comparison, Where, WhereValue } from "./retrieval/where/where.ts";
export type { DocumentChange, DocumentChanges } from "./sync/documents.ts";
export type { FileChange, SyncProgress, SyncResult } from "./sync/sync.ts";
export type { Provider } from "./tensor/session.ts";
export type { LinkOf } from "./text/link.ts";
export type {
  DocumentInput,
  Metadata,
  MetadataItem,
  MetadataValue,
  Passage,
  PassageInput,
} from "./text/passage.ts";
export { type Question, readPassages, readQuestions } from "./text/read-passages.ts";
export type { Span } from "./text/span.ts";
export type { Prompts, Tokenizer } from "./text/tokens/tokenizer-interface.ts";
