/** Whether the words of `part` stand in sequence in `text`; written without the code under test. */
export function canBeRead(part: string, text: string): boolean {
  const plain = (raw: string) =>
    ` ${raw
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .trim()} `;
  return plain(text).includes(plain(part));
}
