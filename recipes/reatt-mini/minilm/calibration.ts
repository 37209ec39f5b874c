/** Texts as tokens of both models, with the states of the teacher at the tokens of the student. */

import type { Tokenizer } from "../../../src/text/tokenizer.ts";
import { TEACHER, type Teacher, type TeacherStates } from "./teacher.ts";
import type { PlacedToken } from "./wordpiece.ts";

/** One text, with a final `</s>`. */
export interface Calibration {
  /** n token ids of the student */
  readonly ids: readonly number[];
  /** States of the teacher at these tokens: of each layer [n, 384]. */
  readonly inputs: readonly Float32Array[];
  readonly attended: readonly Float32Array[];
  /** What the teacher computed, at its own tokens. */
  readonly teacher: TeacherStates;
}

/** Returns nothing for a text with a character that the student does not know. */
export async function calibrate(
  teacher: Teacher,
  tokenizer: Tokenizer,
  pieces: readonly string[],
  text: string,
  tokens: number,
): Promise<Calibration | undefined> {
  const ids = tokenizer.encode(text, tokens);
  if (ids.includes(tokenizer.unknownId)) return undefined;
  const placed = placePieces(ids, pieces);
  const words = teacher.wordPiece.encode(placed.text);
  const { clsId, sepId } = teacher.wordPiece;
  const states = await teacher.run([clsId, ...words.map(({ id }) => id), sepId]);
  const rows = [...placed.tokens.map((token) => overlapping(token, words)), [words.length + 1]];
  const aligned = (values: Float32Array) => meanRows(values, rows);
  return {
    ids: [...ids, tokenizer.eosId],
    inputs: states.inputs.map(aligned),
    attended: states.attended.map(aligned),
    teacher: states,
  };
}

/** The text that the pieces spell, and where each of them is. `▁` is a space. */
function placePieces(ids: readonly number[], pieces: readonly string[]) {
  let text = "";
  const tokens = ids.map((id): PlacedToken => {
    const start = text.length;
    text += pieces[id]!.replaceAll("▁", " ");
    return { id, start, end: text.length };
  });
  return { text, tokens };
}

/** Rows of the teacher's states: those of tokens that overlap, else of the token before. */
function overlapping({ start, end }: PlacedToken, words: readonly PlacedToken[]): number[] {
  const rows = words.flatMap((word, i) => (word.start < end && word.end > start ? [i + 1] : []));
  if (rows.length > 0) return rows;
  return [words.filter((word) => word.end <= start).length];
}

function meanRows(values: Float32Array, rows: readonly (readonly number[])[]): Float32Array {
  const { size } = TEACHER;
  const means = new Float32Array(rows.length * size);
  rows.forEach((ofToken, n) => {
    for (const row of ofToken)
      for (let i = 0; i < size; i++)
        means[n * size + i]! += values[row * size + i]! / ofToken.length;
  });
  return means;
}
