/**
 * How many steps fit into a given time, from a matrix product measured now. The run corrects the
 * number as soon as it knows how long its steps take (run/time-budget.ts).
 */

import { InputError } from "../../io/errors.ts";
import type { Adaptation } from "./adaptation.ts";
import type { MeanLengths } from "./lengths.ts";
import { monitoredPassages } from "./monitor-set.ts";
import { workOf } from "./work.ts";

/** Measurements of retrieval that are planned: before, meanwhile and after. */
const MEASUREMENTS = 4;
/** Share of the time that the index of the corpus can take, at most. */
const MAX_INDEX_SHARE = 0.75;
const MIN_STEPS = 50;
const MAX_STEPS = 4_000;

/**
 * @param rate floating-point operations per second of training and indexing
 * @throws {InputError} if the corpus cannot be indexed in the time
 */
export function stepsInTime(
  run: Adaptation,
  passages: number,
  lengths: MeanLengths,
  rate: number,
): number {
  const minutes = run.minutes!;
  const seconds = 60 * minutes;
  const work = workOf(run, lengths);
  const ofIndex = run.keepsIndex ? 0 : indexSeconds(run, passages, lengths, rate);
  if (ofIndex > MAX_INDEX_SHARE * seconds) throw tooLarge(minutes, passages, ofIndex);
  const monitored = monitoredPassages(run, passages);
  const measurements = (MEASUREMENTS * monitored * work.passage) / rate;
  const steps = Math.floor((seconds - ofIndex - measurements) / (work.step / rate));
  return Math.max(MIN_STEPS, Math.min(MAX_STEPS, steps));
}

const indexSeconds = (
  run: Adaptation,
  passages: number,
  lengths: MeanLengths,
  rate: number,
): number => (passages * workOf(run, { ...lengths, passage: lengths.indexed }).passage) / rate;

function tooLarge(minutes: number, passages: number, seconds: number): InputError {
  const needed = Math.ceil(seconds / MAX_INDEX_SHARE / 60);
  return new InputError({
    where: "minutes",
    expected: `${needed} or more: the index of ${passages} passages takes about ${Math.ceil(seconds / 60)}`,
    got: `${minutes}`,
    remedy: "give more minutes or fewer passages, or train the query side of an existing index",
  });
}
