/**
 * Compares the words that readers of documents find with those of independent programs, on public
 * documents. Prints a table by format, and below it every file whose recall or order is below 0.98:
 *
 *     npm run bench:words -- [--files N] [--folder DIR] [--only FORMAT,...]
 *
 * The documents are those of the Debian packages below, which are downloaded to `--folder` (default
 * `runs/words`) with apt-get, of the packages in `node_modules`, and the manual pages of the
 * machine. Office documents and books are made of HTML by pandoc. Programs that are missing are
 * named, and their formats left out.
 *
 * recall: the share of the words of the other program that the reader finds, each as often as it
 * stands there. precision: the reverse. order: the share of its pairs of neighbours.
 *
 * Not compared is what readers leave out on purpose: numbers that refer to notes, what stands
 * beside the main part of a page, heads, feet and tables of contents of PDF.
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { readDocuments } from "../src/documents/read-documents.ts";

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "40" },
    folder: { type: "string", default: "runs/words" },
    only: { type: "string" },
  },
});
const FILES = Number(values.files);
const PACKAGES = "python3.11-doc docutils-doc debian-policy developers-reference debian-faq";
const NEAR = 0.98;

const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, {
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
const pandoc = (format: string) => (file: string) =>
  withoutNotes(run("pandoc", "-f", format, "-t", "plain", "--wrap=none", file));

/** Without the numbers that refer to notes. */
const withoutNotes = (text: string): string => text.replace(/\[\d+\]/g, " ");

/** The text of the main part of a page of Sphinx, or of the page. */
function shownInPage(file: string): string {
  const page = readFileSync(file, "utf8").replace(/<a class="footnote-reference[\s\S]*?<\/a>/g, "");
  const start = page.search(/<div class="body" role="main"/);
  const end = page.search(/<div class="sphinxsidebar"/);
  const input = start === -1 || end === -1 ? page : page.slice(start, end);
  const args = ["-f", "html", "-t", "plain", "--wrap=none"];
  return withoutNotes(execFileSync("pandoc", args, { input, maxBuffer: 2 ** 28 }).toString());
}

/** The text of the page that docutils makes, without its table of contents. */
function shownByDocutils(file: string): string {
  const settings =
    "{'report_level': 5, 'halt_level': 5, 'output_encoding': 'unicode', 'embed_stylesheet': False}";
  const program =
    "import sys; from docutils.core import publish_file; " +
    `publish_file(source_path=sys.argv[1], writer_name='html4css1', settings_overrides=${settings})`;
  const page = run("python3", "-c", program, file)
    .replace(/<a class="footnote-reference[\s\S]*?<\/a>/g, "")
    .replace(/<div class="(?:contents|header|footer)[\s\S]*?<\/div>/g, "");
  const args = ["-f", "html", "-t", "plain", "--wrap=none"];
  return withoutNotes(execFileSync("pandoc", args, { input: page, maxBuffer: 2 ** 28 }).toString());
}

/** Lines of a page that can be a head or a foot, and pages that have the same one. */
const [EDGE, REPEATED] = [2, 3];

/** The text of the pages without heads, feet, and lines of a table of contents. */
function shownInPages(file: string): string {
  const pages = run("pdftotext", "-enc", "UTF-8", file, "-")
    .split("\f")
    .map((page) => page.split("\n").filter((line) => line.trim() !== ""));
  const keyOf = (line: string): string => line.replace(/\d+|\b[ivxl]+\b/g, "#").trim();
  const isEdge = (i: number, count: number): boolean => i < EDGE || i >= count - EDGE;
  const counts = new Map<string, number>();
  for (const page of pages)
    for (const [i, line] of page.entries())
      if (isEdge(i, page.length)) counts.set(keyOf(line), (counts.get(keyOf(line)) ?? 0) + 1);
  const isShown = (line: string, i: number, { length }: readonly string[]): boolean =>
    !(isEdge(i, length) && counts.get(keyOf(line))! >= REPEATED) && !/(?:\. ?){4,}/.test(line);
  return pages.flatMap((page) => page.filter(isShown)).join("\n");
}

interface Format {
  readonly program: string;
  readonly files: () => readonly string[];
  /** The text that the other program finds. */
  readonly text: (file: string) => string;
}

const FORMATS: Readonly<Record<string, Format>> = {
  html: { program: "pandoc", files: () => pages(), text: shownInPage },
  rst: {
    program: "docutils",
    // not those of Sphinx, whose directives pandoc does not know
    files: () => below(/docutils.*\/docs\/.*\.txt$/).map(named(".rst")),
    text: shownByDocutils,
  },
  markdown: {
    program: "pandoc",
    files: () => below(/^node_modules\/(?:@[^/]+\/)?[^/]+\/README\.md$/, "node_modules"),
    text: pandoc("gfm-yaml_metadata_block"),
  },
  man: { program: "man", files: () => manualPages(), text: shownByMan },
  pdf: {
    program: "pdftotext",
    files: () => below(/\.pdf(\.gz)?$/).map((file) => unpacked(file)),
    text: shownInPages,
  },
  docx: made("docx"),
  odt: made("odt"),
  epub: made("epub"),
};

/** Documents that pandoc makes of pages, and the text of the page. */
function made(ending: string): Format {
  const sources = new Map<string, string>();
  return {
    program: "pandoc",
    files: () =>
      pages().map((page) => {
        const file = join(values.folder, "made", `${basename(page, ".html")}.${ending}`);
        if (!existsSync(file)) {
          mkdirSync(join(values.folder, "made"), { recursive: true });
          run("pandoc", "-f", "html", "--resource-path", join(page, ".."), "-o", file, page);
        }
        sources.set(file, page);
        return file;
      }),
    text: (file) => pandoc("html")(sources.get(file)!),
  };
}

/** Pages without the navigation of their site. */
const pages = (): readonly string[] =>
  below(/docutils.*\/docs\/.*\.html$|\/policy\.html\/.*\.html$/);

/** Files below a folder, without links. */
function below(pattern: RegExp, root = join(values.folder, "packages")): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => pattern.test(file))
    .sort();
}

/** Copies a file to a name with an ending that its reader has. */
function named(ending: string): (file: string) => string {
  return (file) => {
    const copy = join(values.folder, "named", `${file.replaceAll("/", "_")}${ending}`);
    mkdirSync(join(values.folder, "named"), { recursive: true });
    run("cp", file, copy);
    return copy;
  };
}

const unpacked = (file: string): string => {
  if (!file.endsWith(".gz")) return file;
  if (!existsSync(file.slice(0, -3))) run("gunzip", "--keep", file);
  return file.slice(0, -3);
};

const manualPages = (): string[] =>
  below(/\/man\d\/.*\.gz$/, "/usr/share/man").filter((file) => statSync(file).size > 500);

/** The text of a page without its head and its foot. */
function shownByMan(file: string): string {
  const env = { ...process.env, MANWIDTH: "1000", LC_ALL: "C.UTF-8" };
  const command = 'man --no-hyphenation --no-justification -l "$0" | col -b';
  const shown = execFileSync("sh", ["-c", command, file], {
    env,
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
  return shown
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(1, -1)
    .join("\n");
}

/** Titles and texts, each heading once. */
async function read(file: string): Promise<string> {
  const parts: string[] = [];
  let before: readonly string[] = [];
  const options = { passageWords: 10_000, maxPassageTokens: 100_000, onSkip: () => {} };
  for await (const { title = "", text, metadata } of readDocuments(file, options)) {
    const headings = [...((metadata?._headings as readonly string[] | undefined) ?? [])];
    const top = title.split(" > ")[0]!;
    if (headings[0] !== top && parts.length === 0) parts.push(top);
    const same = headings.findIndex((heading, i) => heading !== before[i]);
    if (same !== -1) parts.push(...headings.slice(same));
    before = headings;
    parts.push(text);
  }
  return parts.join("\n");
}

const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\u00ad|(?<=[\p{L}\p{N}])[\^_](?=[\p{L}\p{N}])/gu, "") // `10^6` is `10⁶`
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** How many of these another list has, too. */
function shared(all: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const one of others) left.set(one, (left.get(one) ?? 0) + 1);
  return all.filter((one) => {
    const count = left.get(one) ?? 0;
    left.set(one, count - 1);
    return count > 0;
  }).length;
}

const pairs = (words: readonly string[]): string[] =>
  words.slice(1).map((word, i) => `${words[i]} ${word}`);

const share = (part: number, whole: number): string => (part / Math.max(1, whole)).toFixed(4);

function packages(): void {
  const root = join(values.folder, "packages");
  if (existsSync(root)) return;
  mkdirSync(root, { recursive: true });
  execFileSync("apt-get", ["download", ...PACKAGES.split(" ")], { cwd: root, stdio: "ignore" });
  for (const file of below(/\.deb$/)) run("dpkg-deb", "-x", file, root);
}

/** Files at equal distances. */
const chosen = (files: readonly string[]): string[] =>
  files.filter((_, i) => i % Math.ceil(files.length / FILES) === 0);

async function measured(name: string, { files, text }: Format): Promise<void> {
  const sum = { found: 0, expected: 0, read: 0, pairs: 0, ordered: 0, files: 0 };
  const low: string[] = [];
  for (const file of chosen(files())) {
    let expected: string[];
    try {
      expected = wordsOf(text(file));
    } catch {
      continue; // the other program fails
    }
    const found = wordsOf(await read(file).catch(() => ""));
    const [both, next] = [shared(expected, found), pairs(expected)];
    const ordered = shared(next, pairs(found));
    sum.found += both;
    sum.expected += expected.length;
    sum.read += found.length;
    sum.pairs += next.length;
    sum.ordered += ordered;
    sum.files++;
    const [recall, order] = [both / (expected.length || 1), ordered / (next.length || 1)];
    if (Math.min(recall, order) < NEAR)
      low.push(`    ${recall.toFixed(3)} ${order.toFixed(3)} ${file} (${expected.length} words)`);
  }
  const figures = [share(sum.found, sum.expected), share(sum.found, sum.read)];
  console.log(
    `| ${name} | ${sum.files} | ${sum.expected} | ${figures.join(" | ")} | ${share(sum.ordered, sum.pairs)} |`,
  );
  for (const line of low) console.log(line);
}

packages();
console.log("| format | files | words | recall | precision | order |\n|---|---|---|---|---|---|");
const only = values.only?.split(",");
for (const [name, format] of Object.entries(FORMATS)) {
  if (only && !only.includes(name)) continue;
  try {
    if (format.program === "docutils") run("python3", "-c", "import docutils");
    else run("which", format.program);
  } catch {
    console.log(`    ${name}: ${format.program} is missing`);
    continue;
  }
  await measured(name, format);
}
