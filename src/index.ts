/** What users import. */

export type { ModelConfig } from "./config.ts";
export { InputError } from "./errors.ts";
export {
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
export type { SearchHit, TokenIndex } from "./retrieval/token-index.ts";
export type { Provider } from "./tensor/session.ts";
export { readPassages, readQuestions } from "./text/corpus.ts";
export type { Passage } from "./text/passage.ts";
