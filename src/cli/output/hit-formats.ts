/** Hits for other programs: the paths of their documents, a table, and Markdown. */

import { join } from "node:path";
import type { Hit } from "../../reatt.ts";
import { placeInWords } from "../../text/place.ts";
import { plain } from "./plain.ts";

/** Names the document of a hit: its file, if the folder of the files is known. */
export type PathOf = (hit: Hit) => string;

/** @param folderOf the documents of a collection, which `reatt sync` knows */
export const pathsIn =
  (folderOf: (collection: string | undefined) => string | undefined): PathOf =>
  ({ id, document = id, collection, metadata }) => {
    if (typeof metadata?._source !== "string") return document;
    const folder = folderOf(collection);
    return folder === undefined ? metadata._source : join(folder, metadata._source);
  };

/** Each document once, best first. */
export const toFiles = (hits: readonly Hit[], pathOf: PathOf): string =>
  [...new Set(hits.map((hit) => plain(pathOf(hit))))].map((path) => `${path}\n`).join("");

const COLUMNS = ["question", "rank", "score", "id", "title", "path", "place", "link", "text"];

export const CSV_HEADER: string = csvLine(COLUMNS);

/** One line for each hit. Source: RFC 4180. */
export const toCsv = (question: string, hits: readonly Hit[], pathOf: PathOf): string =>
  hits
    .map((hit, i) => {
      const { id, title, text, score, link = "", metadata } = hit;
      const place = placeInWords(metadata) ?? "";
      return csvLine([question, `${i + 1}`, `${score}`, id, title, pathOf(hit), place, link, text]);
    })
    .join("");

function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) =>
    /[",\r\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell,
  );
  return `${quoted.join(",")}\r\n`;
}

/** A heading, and each hit with its title, its place and its text as a quotation. */
export function toMarkdown(question: string, hits: readonly Hit[], pathOf: PathOf): string {
  const items = hits.map((hit, i) => {
    const { id, title, text, score, link, metadata } = hit;
    const name = escaped(plain(title || id));
    const place = placeInWords(metadata);
    const facts = [escaped(plain(pathOf(hit))), place && escaped(place), score.toFixed(2)];
    const heading = `${i + 1}. ${link === undefined ? `**${name}**` : `[**${name}**](<${address(link)}>)`}`;
    const lines = text.split("\n").map((line) => `   > ${escaped(plain(line))}`.trimEnd());
    return `${heading} (${facts
      .filter(Boolean)
      .map((fact) => plain(fact!))
      .join(", ")})\n\n${lines.join("\n")}\n`;
  });
  const found = items.length > 0 ? items : ["No passage.\n"];
  return [`## ${escaped(plain(question))}\n`, ...found, ""].join("\n");
}

/** A link between `<` and `>`, which these characters and a line break would end. */
const address = (link: string): string => link.replace(/[\s<>\\]/g, encodeURIComponent);

/** Text that Markdown shows as it is. */
const escaped = (text: string): string =>
  text
    .replace(/[\\`*_[\]<>#|~&]/g, "\\$&")
    .replace(/^(\d+)([.)])/, "$1\\$2")
    .replace(/^(\s*)([-+=])/, "$1\\$2");
