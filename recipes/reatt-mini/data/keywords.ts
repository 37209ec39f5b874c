/** Questions as people type them into a search box. */

/** Words that a search does without. */
const FILLERS: ReadonlySet<string> = new Set(
  [
    "a an the of in on at to for by with from and or is are was were be been did do does has",
    "have had what which who whom whose when where why how that this these those it its there",
    "their his her as",
  ].flatMap((words) => words.split(" ")),
);

/** The question in lower case without fillers, or with them if fewer than 2 words are left. */
export function asKeywords(question: string): string {
  const words = question
    .toLowerCase()
    .replace(/\?\s*$/, "")
    .split(/\s+/);
  const kept = words.filter((word) => !FILLERS.has(word));
  return (kept.length < 2 ? words : kept).join(" ");
}
