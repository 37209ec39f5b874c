/** What users import. */

export type { ModelConfig } from "./config.ts";
export { InputError } from "./errors.ts";
export {
  type AddOptions,
  type AnswerOptions,
  type Evidence,
  type Hit,
  type IndexOptions,
  type LoadOptions,
  ReAtt,
  type Reply,
  type RetrieveOptions,
} from "./reatt.ts";
export type { Bits } from "./retrieval/compression/codec.ts";
export type { IndexHeader, ShardRecord } from "./retrieval/disk/manifest.ts";
export type { Interpolation } from "./retrieval/interpolation.ts";
export {
  exportToLance,
  type LanceExportOptions,
  type LanceExportProgress,
} from "./retrieval/lance/lance-export.ts";
export { type LexicalIndex, openLexicalIndex } from "./retrieval/lexical.ts";
export type { Engine, OpenOptions, PresetName } from "./retrieval/open.ts";
export type { Unit } from "./retrieval/rank.ts";
export type { BuildProgress } from "./retrieval/tend/build.ts";
export type { BuildForecast } from "./retrieval/tend/forecast.ts";
export { type IndexInfo, indexInfo } from "./retrieval/tend/info.ts";
export { compactIndex, type MergeOptions, mergeShards } from "./retrieval/tend/maintain.ts";
export { deletePassages } from "./retrieval/tend/update.ts";
export { type Damage, verifyIndex } from "./retrieval/tend/verify.ts";
export type { SearchHit, SearchOptions, TokenIndex } from "./retrieval/token-index.ts";
export type { Provider } from "./tensor/session.ts";
export { readPassages, readQuestions } from "./text/corpus.ts";
export type { Passage } from "./text/passage.ts";
