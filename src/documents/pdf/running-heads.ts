/** Heads and feet of pages: lines that stand at the same place of several pages. */

import type { Line, PageText } from "./page.ts";

/** Lines at the top and at the bottom of a page that can be heads and feet. */
const LINES = 3;
const MIN_PAGES = 3;
/** Of a line that stands on pages of chapters only. */
const MAX_LENGTH = 200; // characters

/** The pages without their heads, feet and numbers. */
export function withoutRunningHeads(pages: readonly PageText[]): PageText[] {
  const counts = new Map<string, number>();
  const edges = pages.map(({ lines }, page) => {
    const keys = new Map(edgesOf(lines).map((line) => [line, keysOf(line, page)]));
    for (const key of new Set([...keys.values()].flat()))
      counts.set(key, (counts.get(key) ?? 0) + 1);
    return keys;
  });
  const isRepeated = (key: string): boolean => counts.get(key)! >= MIN_PAGES;
  return pages.map((page, i) => ({
    ...page,
    lines: page.lines.filter((line) => !edges[i]!.get(line)?.some(isRepeated)),
  }));
}

/** The highest and the lowest lines of a page. */
function edgesOf(lines: readonly Line[]): Line[] {
  const sorted = lines.filter(({ text }) => text.trim() !== "").sort((a, b) => b.y - a.y);
  return [...sorted.slice(0, LINES), ...sorted.slice(Math.max(LINES, sorted.length - LINES))];
}

/**
 * What a line and that of another page have in common: the text and the place, where the first or
 * the last number may be that of the page.
 */
function keysOf({ text, y }: Line, page: number): string[] {
  const plain = text.trim().replace(/\s+/g, " ");
  if (plain.length > MAX_LENGTH) return [];
  const place = Math.round(y / 4);
  const numbered = (pattern: RegExp): string =>
    plain.replace(pattern, (found) =>
      found.replace(/\d+/, (number) => `<${Number(number) - page}>`),
    );
  const isRoman = /^[ivxlc]{1,7}$/.test(plain);
  const texts = new Set([
    isRoman ? "<roman>" : plain,
    numbered(/\d{1,5}/),
    numbered(/\d{1,5}\D*$/),
  ]);
  return [...texts].map((one) => `${place} ${one}`);
}
