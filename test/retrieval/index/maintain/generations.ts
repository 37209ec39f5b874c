/**
 * The generations of an index and their contents, for crash.test.ts and the process that it kills.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { compactIndex } from "../../../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../../../src/retrieval/index/maintain/update.ts";
import { deletePassages } from "../../../../src/retrieval/maintain.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { build, encode, makePassages, withMetadata } from "../../support.ts";
import { addingStates, statesHeader } from "../../toy-states.ts";

/** How the generations are built: with states. */
export const HOLDING_STATES = { header: statesHeader, encode: addingStates(slowly) };

/** Of every four generations one is built, then passages are replaced, deleted, and compacted. */
const STEPS = 4;

const replacements = (generation: number): Passage[] => withMetadata(makePassages(30, generation));

const deletedIds = (generation: number): string[] =>
  Array.from({ length: 40 }, (_, i) => `p${(i * 31 + generation) % 1600}`);

/** The passages of a generation, in the order of the index. */
export function contentsOf(generation: number): Passage[] {
  const step = (generation - 1) % STEPS;
  if (step === 0) return makePassages(1600, generation);
  const before = contentsOf(generation - 1);
  if (step === 3) return before;
  const gone = new Set(
    step === 1 ? replacements(generation).map(({ id }) => id) : deletedIds(generation),
  );
  const kept = before.filter(({ id }) => !gone.has(id));
  return step === 1 ? [...kept, ...replacements(generation)] : kept;
}

/** Changes the index from the previous generation to `generation`. */
export async function advance(directory: string, generation: number): Promise<void> {
  const options = { directory, ...HOLDING_STATES };
  const step = (generation - 1) % STEPS;
  if (step === 0) await build(directory, makePassages(1600, generation), HOLDING_STATES);
  if (step === 1) await addPassages(replacements(generation), options);
  if (step === 2) await deletePassages(deletedIds(generation), { directory });
  if (step === 3) await compactIndex(directory);
}

/** Slows encoding down, so that a kill in the middle of a build is likely. */
async function slowly(passages: readonly Passage[]): Promise<Float32Array[]> {
  await sleep(5);
  return encode(passages);
}
