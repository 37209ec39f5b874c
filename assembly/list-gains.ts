/**
 * The inner loop of src/retrieval/search/candidates.ts, in AssemblyScript: it decodes a list and
 * adds to its passages without branches, which a processor would often predict wrongly.
 * `npm run build:wasm` compiles it.
 */

/** Bytes of the mark of a passage: its gain, and the last question token that met it. */
const MARK: usize = 8;

/**
 * Adds `gain` to the marks of the passages of a list that `token` has not met. Returns false if the
 * list is damaged: if it has a passage after the last mark.
 *
 * @param list the address of the encoded list (src/retrieval/index/format/lists.ts)
 * @param end the address after the list
 * @param marks [passages, 2] 32-bit: the address of the mark of the first passage
 * @param lastMark the address of the mark of the last passage
 */
export function addGain(
  list: usize,
  end: usize,
  gain: i32,
  token: u32,
  marks: usize,
  lastMark: usize,
): bool {
  let mark = marks - MARK;
  while (list < end) {
    const bytes = <usize>load<u16>(list);
    const longer = (bytes >> 7) & 1;
    let difference = (bytes & 127) | (((bytes >> 8) << 7) & -longer);
    list += 1 + longer;
    if (longer & (difference >> 14)) {
      // three bytes and more are rare
      difference &= (1 << 14) - 1;
      let byte: usize;
      let shift: usize = 14;
      do {
        byte = load<u8>(list++);
        difference |= (byte & 127) << shift;
        shift += 7;
      } while (byte >= 128);
    }
    mark += MARK * difference;
    if (mark > lastMark) return false;
    const isNew = load<u32>(mark, 4) !== token;
    store<i32>(mark, load<i32>(mark) + select<i32>(gain, 0, isNew));
    store<u32>(mark, token, 4);
  }
  return true;
}
