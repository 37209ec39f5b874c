/** Tables of contents in texts that have only lines. */

/** Lines with dots and pages that ascend. Dots before prices are a list. */
export function isContents(lines: readonly string[]): boolean {
  const pages = lines.flatMap((line) => pageOf(line) ?? []);
  return (
    pages.length >= 3 &&
    pages.length > 0.7 * lines.length &&
    pages.every((page, i) => i === 0 || page >= pages[i - 1]!)
  );
}

/** The page of a line of a table of contents: a title, four dots or more, a number. */
export function pageOf(line: string): number | undefined {
  const [page] = /\d{1,4}$/.exec(line.trimEnd()) ?? [];
  if (page === undefined) return undefined;
  const before = line.trimEnd().slice(0, -page.length).trimEnd();
  let [at, dots] = [before.length, 0];
  for (; before[at - 1] === "."; dots++) at -= /[ \t]/.test(before[at - 2] ?? "") ? 2 : 1;
  return dots >= 4 && before.slice(0, Math.max(0, at)).trim() !== "" ? Number(page) : undefined;
}
