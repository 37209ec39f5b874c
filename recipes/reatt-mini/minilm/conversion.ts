/** What the parts of a conversion share: the weights in the making and the calibration texts. */

import type { ModelConfig } from "../../../src/model/config.ts";
import type { Calibration } from "./calibration.ts";
import type { HeadPlan } from "./heads.ts";
import { leastSquares, type Rows } from "./least-squares.ts";
import { explained, normedRows } from "./rows.ts";
import { TEACHER, type Teacher } from "./teacher.ts";

/** The first dimension of the student's states after the teacher's. It carries biases. */
export const CONSTANT: number = TEACHER.size;

export interface Conversion {
  readonly config: ModelConfig;
  readonly weights: Map<string, Float32Array>;
  readonly teacher: Teacher;
  readonly texts: readonly Calibration[];
  readonly plan: HeadPlan;
  /** Of each text: the student's states [n, modelSize] after the parts converted so far. */
  readonly states: readonly Float32Array[];
  readonly seed: string;
}

/** The rows of the word vectors of all calibration texts, up to `columns` columns. */
export function wordVectorsOf(
  { config, weights }: Pick<Conversion, "config" | "weights">,
  ids: readonly number[],
  columns = config.modelSize,
): Float32Array[] {
  const table = weights.get("shared.weight")!;
  const first = (id: number): number => id * config.modelSize;
  return ids.map((id) => table.subarray(first(id), first(id) + columns));
}

/** The map from the normed states to `y` [n, columns], of least squares. Prints its quality. */
export function mapFromStates(conversion: Conversion, y: Rows, name: string): Float32Array {
  const x = normedRows(conversion.states, conversion.config.modelSize);
  const map = leastSquares(x, y);
  console.error(`${name}: explains ${explained(x, y, map).toFixed(3)}`);
  return map;
}
