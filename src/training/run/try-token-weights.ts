/** The step of a run that takes token weights. */

import { TOKEN_WEIGHTS } from "../../model/parameter-names.ts";
import type { TrainingEvent } from "./events.ts";
import { hasFallen } from "./fall.ts";
import { recordMeasurement } from "./measure.ts";
import { measureRetrieval } from "./retrieval-monitor.ts";
import type { RunState } from "./run-state.ts";

/**
 * Takes the token weights that come with the data, unless retrieval with them is clearly worse.
 * This is then the first step of the run: it takes the place of an update by gradients.
 *
 * Real questions gain from them on most collections (docs/experiments/adaptation.md). Examples made
 * from documents, which most monitors consist of, gain less: all their words stand in a passage.
 */
export async function* tryTokenWeights(state: RunState): AsyncGenerator<TrainingEvent> {
  const { run, engine, data, monitor, monitorRecords } = state;
  const before = monitorRecords.at(-1); // none if a parameter is too large to compute with
  if (!data.tokenWeights || !monitor || !before) return;
  yield { type: "stage", name: "counting tokens" };
  const parameters = await engine.parameters();
  const weights = { ...parameters.get(TOKEN_WEIGHTS)!, value: await data.tokenWeights() };
  const weighed = new Map(parameters).set(TOKEN_WEIGHTS, weights);
  const measured = yield* measureRetrieval(run, weighed, monitor);
  if (hasFallen([before, { step: state.step, ...measured }])) return;
  await engine.restart(new Map([...weighed].map(([name, { value }]) => [name, value])));
  state.step++;
  yield* recordMeasurement(state, monitor, weighed, { ...measured, taken: true });
}
