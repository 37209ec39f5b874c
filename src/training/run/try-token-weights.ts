/** The step of a run that takes token weights. */

import { mean } from "../../math/mean.ts";
import { TOKEN_WEIGHTS } from "../../model/parameter-names.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { TrainingEvent } from "./events.ts";
import { recordMeasurement } from "./measure.ts";
import { measureRetrieval } from "./retrieval-monitor.ts";
import type { TrainingRun } from "./training-run.ts";

/**
 * Takes the token weights that come with the data, if retrieval with them is better. This is then
 * the first step of the run: it takes the place of an update by gradients.
 */
export async function* tryTokenWeights(run: TrainingRun): AsyncGenerator<TrainingEvent> {
  const { options, config, engine, data, monitor, monitorRecords } = run;
  if (!data.tokenWeights || !monitor) return;
  yield { type: "stage", name: "counting tokens" };
  const logWeights = await data.tokenWeights();
  const before = await engine.parameters();
  const weighed = withValue(before, TOKEN_WEIGHTS, logWeights);
  const measured = yield* measureRetrieval(options, config, weighed, monitor);
  if (mean(measured.reciprocalRanks) <= mean(monitorRecords.at(-1)!.reciprocalRanks)) return;
  await engine.restart(new Map([...weighed].map(([name, { value }]) => [name, value])));
  run.step++;
  yield* recordMeasurement(run, monitor, weighed, measured);
}

/** The parameters with other values of one of them. */
function withValue(
  parameters: ReadonlyMap<string, ParameterState>,
  name: string,
  value: Float32Array,
): Map<string, ParameterState> {
  return new Map(parameters).set(name, { ...parameters.get(name)!, value });
}
