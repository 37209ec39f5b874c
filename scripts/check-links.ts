/**
 * Checks the links between local files: `tsx scripts/check-links.ts PATH...`.
 *
 * A PATH is a Markdown or HTML file, or a folder that is searched for them. The target of each
 * relative link must exist, and so must its #anchor: a heading of a Markdown file (by GitHub's
 * rules) or an `id` of an HTML file. Links with a scheme (`https:`, `mailto:`) are not followed.
 * The last line is `N passed, N failed`; each file counts once.
 */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve } from "node:path";

interface Page {
  /** As they are written. */
  readonly links: readonly string[];
  readonly anchors: ReadonlySet<string>;
}

/** Folders that are not part of the repository. The generated `docs/api` is a separate argument. */
const SKIPPED = new Set([
  "node_modules",
  ".git",
  "dist",
  "coverage",
  ".build",
  ".index",
  "runs",
  "docs/api",
  "src/server/http/page",
]);

const pages = new Map<string, Page>();
const paths = process.argv.slice(2);
const files = (paths.length > 0 ? paths : ["."]).flatMap(findPages);
let failed = files.length === 0 ? 1 : 0;
if (files.length === 0) console.log(`FAIL  no Markdown or HTML file in ${paths.join(", ")}`);
for (const file of files) {
  const broken = readPage(file).links.filter((link) => !leadsSomewhere(file, link));
  if (broken.length > 0) failed++;
  for (const link of broken) console.log(`FAIL  ${relative(".", file)} links to ${link}`);
}
console.log(`\n${files.length - (files.length === 0 ? 0 : failed)} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function findPages(path: string): string[] {
  if (!statSync(path).isDirectory()) return [resolve(path)];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(relative(".", inner)) ? [] : findPages(inner);
    return [".md", ".html"].includes(extname(inner)) ? [resolve(inner)] : [];
  });
}

function leadsSomewhere(file: string, link: string): boolean {
  if (/^[a-z][a-z\d+.-]*:/i.test(link) || link.startsWith("//")) return true;
  const [path, anchor] = link.replace(/\?.*?(?=#|$)/, "").split("#", 2) as [string, string?];
  const target = path === "" ? file : resolve(dirname(file), decodeURIComponent(path));
  if (!existsSync(target)) return false;
  if (!anchor || ![".md", ".html"].includes(extname(target))) return true;
  return readPage(target).anchors.has(decodeURIComponent(anchor));
}

function readPage(file: string): Page {
  let page = pages.get(file);
  if (!page) {
    const text = readFileSync(file, "utf8");
    page = extname(file) === ".md" ? markdownPage(text) : htmlPage(text);
    pages.set(file, page);
  }
  return page;
}

function htmlPage(text: string): Page {
  const markup = text.replace(/<script\b[^>]*>.*?<\/script>/gs, "");
  const values = (name: string): string[] =>
    [...markup.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"))].map(([, value]) =>
      value!.replaceAll("&amp;", "&"),
    );
  return { links: [...values("href"), ...values("src")], anchors: new Set(values("id")) };
}

function markdownPage(text: string): Page {
  const prose = text.replace(/^ *(```+|~~~+).*?^ *\1 *$/gms, ""); // code blocks contain no links
  const anchors = new Set(htmlPage(prose).anchors);
  const repeated = new Map<string, number>();
  for (const [, heading] of prose.matchAll(/^#{1,6} +(.+?)(?: +#+)? *$/gm)) {
    const slug = githubSlug(heading!);
    const count = repeated.get(slug) ?? 0;
    repeated.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  const noCode = prose.replace(/(`+)[^`].*?\1/g, "");
  const inline = noCode.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g);
  // [^1]: begins a footnote.
  const definitions = noCode.matchAll(/^ {0,3}\[(?!\^)[^\]]+\]: *<?([^\s>]+)>?/gm);
  const links = [...inline, ...definitions].map(([, link]) => link!);
  return { links: [...links, ...htmlPage(noCode).links], anchors };
}

/** The anchor that GitHub gives a heading. */
function githubSlug(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
}
