/** What a run tells, on the terminal: bars and lines on stderr, or one JSON object a line on stdout. */

import { formatBytes } from "../io/format-bytes.ts";
import type { AdaptationEvent } from "../training/adapt.ts";
import type { AdaptationPlan } from "../training/adaptation/plan.ts";
import type { TrainingEvent } from "../training/run/events.ts";
import type { HeadAgreement } from "../training/run/rank-heads.ts";
import { duration, type Progress, startProgress } from "./progress.ts";

/** Prints every event of a run, and returns its result. */
export async function printEvents<Result>(
  run: AsyncGenerator<AdaptationEvent, Result>,
): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
    process.stdout.write(`${JSON.stringify(value)}\n`);
  }
}

/** A bar for each stage and one for all steps, and a line for each evaluation. */
export async function showEvents<Result>(
  run: AsyncGenerator<AdaptationEvent, Result>,
): Promise<Result> {
  let progress: Progress | undefined;
  let stepsShown = false;
  const stop = (): void => {
    progress?.stop();
    progress = undefined;
    stepsShown = false;
  };
  const say = (line: string): void => {
    stop();
    process.stderr.write(`${line}\n`);
  };
  try {
    for (;;) {
      const { done, value: event } = await run.next();
      if (done) return event;
      if (event.type === "plan") say(planLines(event.plan));
      else if (event.type === "engine") say(engineLine(event));
      else if (event.type === "heads") say(headLines(event.heads));
      else if (event.type === "stage") {
        say(`${event.name} …`);
        if (event.total !== undefined) progress = startProgress("done", event.total);
      } else if (event.type === "progress") progress?.update(event.done);
      else if (event.type === "step") {
        if (!stepsShown) {
          stop();
          progress = startProgress("steps", event.steps);
          progress.resume(event.step - 1);
          stepsShown = true;
        }
        progress?.update(event.step, lossLine(event));
      } else if (event.type === "refresh")
        say(
          `step ${event.step}: close passages are now those of the model of step ${event.snapshot}`,
        );
      else if (event.type === "evaluation")
        say(
          `step ${event.step}: ${measuresLine(event.measures)}${event.best ? ", the best so far" : ""}`,
        );
    }
  } finally {
    stop();
  }
}

const QUERY_SIDE = {
  projection: "the query projection alone",
  layers: "a copy of the lower layers for questions",
} as const;

function planLines(plan: AdaptationPlan): string {
  const {
    model,
    parameters,
    passages,
    querySide,
    sources,
    iterations,
    steps,
    questions,
    candidatesPerQuestion,
  } = plan;
  const unknown = Math.round(100 * plan.unknownTokens);
  return [
    `Plan: ${model} (${(parameters / 1e6).toFixed(1)} million parameters) to a corpus of ${passages} passages`,
    `  trains on   ${sources.map(({ name, examples }) => `${name} (up to ${examples})`).join(", ")}`,
    ...(querySide
      ? [`  trains      ${QUERY_SIDE[querySide]}; an index of the base serves on`]
      : []),
    `  for         ${iterations} x ${steps} steps of ${questions} questions with ${candidatesPerQuestion} passages each`,
    `  takes about ${duration(plan.seconds)} (from a matrix product measured now), ${formatBytes(plan.memoryBytes)} of memory, ${formatBytes(plan.diskBytes)} of disk`,
    ...(unknown > 0
      ? [
          `  beware: ${unknown} % of the tokens of passages are unknown to the model: it reads them all as one`,
        ]
      : []),
  ].join("\n");
}

function engineLine({
  name,
  device,
  failures,
}: Extract<TrainingEvent, { type: "engine" }>): string {
  const place =
    device === "JavaScript"
      ? "in JavaScript, which is very slow (for native speed: npm install @tensorflow/tfjs-node)"
      : `on the ${device}`;
  return [
    `Training steps are computed by ${name} ${place}`,
    ...failures.map((failure) => `not by ${failure}`),
  ].join("; ");
}

function headLines(heads: readonly HeadAgreement[]): string {
  const lines = heads.map(({ head, correlation }) => `  head ${head}: ${correlation.toFixed(3)}`);
  const taken = `Head ${heads[0]!.head} is trained to retrieve`;
  return ["Correlation of scores with an answer in the passage:", ...lines, taken].join("\n");
}

function lossLine({
  losses,
  questionsPerSecond,
}: Extract<TrainingEvent, { type: "step" }>): string {
  const kl = losses.distillation ? `, kl ${losses.distillation.kl.toFixed(3)}` : "";
  return `nll ${losses.nll.toFixed(3)}${kl}, ${questionsPerSecond.toFixed(1)} questions/s`;
}

const measuresLine = (measures: Readonly<Record<string, number>>): string =>
  Object.entries(measures)
    .map(([name, value]) => `${name} ${(100 * value).toFixed(1)}`)
    .join(", ");
