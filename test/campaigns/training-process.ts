/**
 * A process for training-kills.ts and refresh-kills.ts to kill: `train` or `adapt` with the options
 * in its argument. It writes a line when it starts and one for each step, and ends with the run.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { adapt } from "../../src/training/adapt.ts";
import { train } from "../../src/training/train.ts";
import { endWithParent } from "./end-with-parent.ts";

export type TrainedRun = (
  | { readonly kind: "train"; readonly options: Parameters<typeof train>[0] }
  | { readonly kind: "adapt"; readonly options: Parameters<typeof adapt>[0] }
) & {
  /** Time to wait after each step. */
  readonly stepMilliseconds?: number;
};

endWithParent();
process.stdout.write("started\n");
const run: TrainedRun = JSON.parse(process.argv[2]!);
const events = run.kind === "train" ? train(run.options) : adapt(run.options);
for await (const event of events)
  if (event.type === "step") {
    process.stdout.write("step\n");
    await sleep(run.stepMilliseconds ?? 0);
  }
process.exit(0);
