/** The names of weights in the file of a model: those of this package, or those of T5. */

import type { ModelConfig } from "./config.ts";
import { EMBEDDING, parameterTable } from "./parameter-names.ts";
import { t5Names, toT5File } from "./t5-form.ts";

/** The names that a model is stored with, by our names. */
export const namesToStore = (config: ModelConfig): Map<string, string> =>
  toT5File(config) ? t5Names(config) : ownNames(config);

/** The names of a model's weights in a file, by our names. */
export const namesInFile = (config: ModelConfig, tensors: Tensors): Map<string, string> =>
  isOwnForm(tensors) ? ownNames(config) : namesToStore(config);

/** Whether a file has the names of this package. */
export const isOwnForm = (tensors: Tensors): boolean => tensors.has(EMBEDDING);

type Tensors = Pick<ReadonlyMap<string, unknown>, "has">;

const ownNames = (config: ModelConfig): Map<string, string> =>
  new Map([...parameterTable(config).keys()].map((name) => [name, name]));
