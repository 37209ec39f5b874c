/** Finds the name that a misspelt name stands for. */

/** Longer names are not compared. */
const MAX_LENGTH = 40;

/**
 * The name that is most similar to `given`, or undefined if none is similar. Case, hyphens and
 * underscores do not count: `top_k` is `topK`.
 */
export function closestName(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_LENGTH) return undefined;
  const wanted = letters(given);
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  const ranked = names
    .map((name) => ({ name, edits: editDistance(wanted, letters(name)) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= limit && best.edits < letters(best.name).length
    ? best.name
    : undefined;
}

const letters = (name: string): string => name.toLowerCase().replace(/[-_\s]/g, "");

/** Levenshtein's distance: the least number of characters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
