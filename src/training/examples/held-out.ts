/**
 * Examples that are not trained on, to measure retrieval with. What is made of one passage, or of
 * near copies of it, is on one side only, and so are equal questions. Labelled queries, and
 * questions without a known passage, are divided by their texts alone.
 *
 * An example can be about many passages, such as a title of many. All that is made of these
 * passages is held out with it, so such sources are drawn first: often the others have enough then.
 */

import { mean } from "../../math/mean.ts";
import { createRandom } from "../../math/random.ts";
import { type Example, type Passages, sourcesOf } from "./example.ts";
import { nearCopies } from "./near-copies.ts";
import { MAX_PER_PASSAGE } from "./sources/sampling.ts";
import type { SourceTraits } from "./sources/source.ts";
import { keysOf, wordsOf } from "./sources/words.ts";
import type { SourceCounts } from "./training-data.ts";

/** The share of the examples to hold out, if that is fewer than the maximum. */
const HELD_OUT_SHARE = 0.1;
/**
 * Of few examples a larger share, up to this number: half of them choose the model, and 25 cannot
 * tell a gain of three points from chance (docs/experiments/adaptation.md).
 */
const FEW = { share: 0.25, most: 150 };
const MAX_HELD_OUT = 600;
/** Fewer in a short run: each measurement of retrieval indexes their passages. */
const HELD_OUT_PER_MINUTE = 20;

/** Maximum number of held-out examples of each source; label-free sources share it. */
export const maxHeldOut = ({
  minutes = Infinity,
}: {
  readonly minutes?: number | undefined;
}): number => Math.min(MAX_HELD_OUT, Math.ceil(HELD_OUT_PER_MINUTE * minutes));

/** Examples to train on, and examples to measure with. */
export interface Split {
  readonly training: readonly Example[];
  readonly heldOut: readonly Example[];
}

/** The split of sources of which nothing is held out. */
export const nothingHeldOut = (
  sources: ReadonlyMap<string, readonly Example[]>,
): ReadonlyMap<string, Split> =>
  new Map([...sources].map(([name, training]) => [name, { training, heldOut: [] }]));

/** What became of the examples of a source. */
export const splitCounts = (
  { name, relevant }: SourceTraits,
  all: readonly Example[],
  { training, heldOut }: Split,
): SourceCounts => ({
  ...{ name, relevant, all: all.length },
  ...{ training: training.length, heldOut: heldOut.length },
});

/** Number of examples to hold out: a tenth, or a quarter up to 150, at most `max`. */
export function heldOutCount(examples: number, max: number): number {
  const ofFew = Math.min(FEW.most, Math.floor(examples * FEW.share));
  return Math.min(max, Math.max(ofFew, Math.floor(examples * HELD_OUT_SHARE)));
}

/**
 * Holds out examples of each source, at random (`heldOutCount`), and all that is made of the same
 * passages, up to the maximum. All parts keep their order. Examples that are partly about held-out
 * passages are on neither side.
 *
 * @param max number of examples of each source to hold out
 */
export async function holdOut(
  sources: ReadonlyMap<string, readonly Example[]>,
  corpus: Passages,
  { seed, max }: { readonly seed: number; readonly max: (name: string) => number },
): Promise<ReadonlyMap<string, Split>> {
  const about = new Set([...sources.values()].flat().flatMap(sourcesOf));
  const groupOf = await nearCopies(corpus.passages((id) => about.has(id)));
  const groupsOf = (example: Example): string[] => {
    const passages = example.labels ? [] : sourcesOf(example);
    return passages.length > 0 ? passages.map(groupOf) : [`question ${wordsIn(example.question)}`];
  };
  const held = new Set<string>();
  const isHeld = (group: string): boolean => held.has(group);
  const perExample = ({ groups }: { readonly groups: readonly (readonly string[])[] }): number =>
    mean(groups.map(({ length }) => length));
  const drawn = [...sources]
    .map(([name, examples]) => ({ name, groups: examples.map(groupsOf) }))
    .sort((a, b) => perExample(b) - perExample(a));
  for (const { name, groups } of drawn) {
    const count = heldOutCount(groups.length, max(name));
    for (const group of drawGroups(groups, count, isHeld, seed)) held.add(group);
  }
  const splits = new Map<string, Split>();
  const isOut = (example: Example): boolean => groupsOf(example).every(isHeld);
  const out = new Set([...sources.values()].flat().filter(isOut));
  const questions = new Set([...out].map(({ question }) => wordsIn(question)));
  for (const [name, examples] of sources) {
    const ofSource = examples.filter((example) => out.has(example));
    const measured = createRandom(seed, "held out").shuffle(ofSource).slice(0, max(name));
    const chosen = new Set(measured);
    splits.set(name, {
      training: examples.filter(
        (example) => !groupsOf(example).some(isHeld) && !questions.has(wordsIn(example.question)),
      ),
      heldOut: ofSource.filter((example) => chosen.has(example)),
    });
  }
  return splits;
}

const wordsIn = (text: string): string => keysOf(wordsOf(text)).join(" ");

/**
 * Groups of random examples, until `count` examples are held out. A group of many examples, such as
 * a text that is in all documents, is left to training.
 *
 * @param groups of each example
 */
function drawGroups(
  groups: readonly (readonly string[])[],
  count: number,
  isHeld: (group: string) => boolean,
  seed: number,
): Set<string> {
  const members = new Map<string, number[]>();
  for (const [place, ofExample] of groups.entries())
    for (const group of ofExample) {
      const places = members.get(group) ?? [];
      members.set(group, places);
      places.push(place);
    }
  const drawn = new Set<string>();
  const isOut = (place: number): boolean =>
    groups[place]!.every((group) => drawn.has(group) || isHeld(group));
  const out = new Set([...groups.keys()].filter(isOut));
  const largest = Math.max(count, MAX_PER_PASSAGE);
  for (const place of createRandom(seed, "held out").shuffle([...groups.keys()])) {
    if (out.size >= count) break;
    if (groups[place]!.some((group) => members.get(group)!.length > largest)) continue;
    for (const group of groups[place]!) drawn.add(group);
    const touched = groups[place]!.flatMap((group) => members.get(group)!);
    for (const other of touched) if (isOut(other)) out.add(other);
  }
  return drawn;
}
