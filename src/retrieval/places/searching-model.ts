/** Whether a model can search an index, and read the states that it holds. */

import { homedir } from "node:os";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
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
      `use the model that made the index${named(header.model, directory)}, or build the index again with ` +
      `this one${named(model.model)}`,
  });
}

/** @param from where its path is seen from. Default: the working directory */
const named = (place: ModelPlace | undefined, from = ""): string => {
  if (!place) return "";
  const { title, path } = place;
  return ` (${title}${path === undefined ? "" : `, in ${resolve(from, path)}`})`;
};

/** So far above an index its model can be: that of `reatt adapt` is in `../../NAME`. */
const MAX_ABOVE = 2;

/**
 * A model as an index names it. An index can be published: it has no absolute path, and none
 * through the home folder of a person.
 *
 * @param directory of the index; undefined for a store
 */
export function seenFrom(directory: string | undefined, model: ModelPlace): ModelPlace {
  const { title, path } = model;
  const isNamed = title.includes("/"); // ORG/NAME of the hub
  if (directory === undefined || path === undefined || isNamed || path === EMBEDDED_MODEL)
    return { title };
  const from = resolve(directory);
  const seen = relative(from, path).split(sep);
  const above = seen.filter((part) => part === "..").length;
  const isNear = above <= MAX_ABOVE && !isAbsolute(seen.join(sep));
  const isPrivate = isBelow(homedir(), path) && !isBelow(homedir(), from);
  return isNear && !isPrivate ? { title, path: seen.join("/") } : { title };
}

const isBelow = (folder: string, path: string): boolean => path.startsWith(folder + sep);

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
