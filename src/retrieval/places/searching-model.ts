/** Whether a model can search an index, and read the states that it holds. */

import { InputError } from "../../io/errors.ts";
import type { IndexHeader, ModelPlace } from "../index/format/manifest.ts";

/** What decides whether a model can search an index. */
export interface SearchingModel extends Pick<IndexHeader, "fingerprint" | "model" | "pooling"> {
  /** Identifies the weights that make the states for reading. */
  readonly statesFingerprint?: string | undefined;
}

/** @throws {InputError} if another model built the index */
export function checkModel(directory: string, header: IndexHeader, model: SearchingModel): void {
  if (header.fingerprint === model.fingerprint) return;
  const isPooledElse = header.pooling !== model.pooling;
  throw new InputError({
    code: "ERR_REATT_OTHER_MODEL",
    where: directory,
    expected: isPooledElse
      ? `an index with ${keysOf(model)}`
      : `an index of the model ${model.fingerprint}`,
    got: isPooledElse ? `one with ${keysOf(header)}` : `one of the model ${header.fingerprint}`,
    remedy:
      `use the model that made the index${named(header.model)}, or build the index again with ` +
      `this one${named(model.model)}`,
  });
}

const named = (place: ModelPlace | undefined): string =>
  place ? ` (${place.title}, in ${place.path})` : "";

/** Reading computes states of another model again. Such a model has the keys of the index. */
export function warnOfStates(
  directory: string,
  { states }: IndexHeader,
  model: SearchingModel,
): void {
  if (states === undefined || states.fingerprint === model.statesFingerprint) return;
  process.emitWarning(
    `${directory}: expected states that this model reads, got those of another; ` +
      "answers do not use them: build the index again with --keep-states",
    "ReAttWarning",
  );
}

const keysOf = ({ pooling }: Pick<SearchingModel, "pooling">): string =>
  pooling === undefined ? "a key for each token" : `a key for each passage (pooling ${pooling})`;
