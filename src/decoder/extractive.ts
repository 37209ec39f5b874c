/** Extractive reading: every answer is a span of tokens of one of the passages read. */

/**
 * The tokens that may follow the tokens written so far: those that follow them somewhere in a
 * passage, and `</s>` once something is written.
 *
 * The span may stand in the title, because a passage is read with it (text/prompts.ts). The work of
 * a call is linear in the tokens of the passages.
 *
 * Related work: De Cao et al. 2021 (GENRE) restrict beam search to a set of names in this way.
 *
 * @param passages token ids of each passage; a final `</s>` is not part of a span
 * @example
 * const next = spanContinuations([[7, 8, 9, 1], [8, 5, 1]], 1);
 * next([8]); // Set { 9, 5, 1 }
 */
export function spanContinuations(
  passages: readonly (readonly number[])[],
  endId: number,
): (written: readonly number[]) => ReadonlySet<number> {
  return (written) => {
    const next = new Set<number>();
    for (const passage of passages)
      for (let first = 0; first + written.length < passage.length; first++)
        if (written.every((token, i) => passage[first + i] === token))
          next.add(passage[first + written.length]!);
    if (written.length === 0) next.delete(endId);
    return written.length > 0 || next.size === 0 ? next.add(endId) : next;
  };
}
