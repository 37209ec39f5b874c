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
export type { BuildProgress } from "./retrieval/build.ts";
export type { Bits } from "./retrieval/codec.ts";
export type { BuildForecast } from "./retrieval/forecast.ts";
export { type IndexInfo, indexInfo } from "./retrieval/info.ts";
export {
  exportToLance,
  type LanceExportOptions,
  type LanceExportProgress,
} from "./retrieval/lance-export.ts";
export { compactIndex, type MergeOptions, mergeShards } from "./retrieval/maintain.ts";
export type { IndexHeader, ShardRecord } from "./retrieval/manifest.ts";
export type { Engine, OpenOptions, PresetName } from "./retrieval/open.ts";
export type { SearchHit, SearchOptions, TokenIndex } from "./retrieval/token-index.ts";
export { deletePassages } from "./retrieval/update.ts";
export { type Damage, verifyIndex } from "./retrieval/verify.ts";
export type { Provider } from "./tensor/session.ts";
export { readPassages, readQuestions } from "./text/corpus.ts";
export type { Passage } from "./text/passage.ts";
