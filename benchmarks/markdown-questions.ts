/**
 * Asks 40 questions about the README files of ten installed packages: reatt with the Markdown read
 * as plain text and rendered, and beside it, on the rendered passages, MiniSearch with its defaults
 * and Orama with stems and stop words, which its defaults need for questions. Orama also gets
 * vectors for its hybrid search: one of a passage, the mean of its token keys.
 *
 * Prints for how many questions the first passage, or one of five, has the answer, how many answers
 * are right, and the processor time of a question, after one that is not counted.
 *
 *     npx tsx benchmarks/markdown-questions.ts [--model DIR] [--json]
 */

import { copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create, insert, search as searchOrama } from "@orama/orama";
import { stemmer } from "@orama/stemmers/english";
import { stopwords } from "@orama/stopwords/english";
import MiniSearch from "minisearch";
import { exactMatch } from "../src/evaluation/answers.ts";
import { ReAtt } from "../src/reatt.ts";
import type { TokenIndex } from "../src/retrieval/search/token-index.ts";
import { findAnswerSpan } from "../src/text/answer-span.ts";
import type { Passage } from "../src/text/passage.ts";

/** Passages that a person looks at. */
const FIVE = 5;

interface Item {
  readonly of: string;
  readonly question: string;
  readonly answers: readonly string[];
}

const QUESTIONS: readonly (readonly [of: string, question: string, ...answers: string[]])[] = [
  ["chokidar", "For which project was chokidar made in 2012?", "Brunch"],
  ["chokidar", "In how many repositories is chokidar used?", "30 million", "~30 million"],
  ["chokidar", "Which minimum version of Node does chokidar v4 need?", "v14", "14"],
  ["chokidar", "Which environment variable overrides usePolling?", "CHOKIDAR_USEPOLLING"],
  ["chokidar", "What is the default polling interval for binary files in chokidar?", "300"],
  ["chokidar", "Which option limits how many levels of subdirectories are traversed?", "depth"],
  ["chokidar", "Which core module of Node does chokidar rely on?", "fs"],
  ["yauzl", "Which library is for zipping, beside yauzl?", "yazl"],
  [
    "yauzl",
    "What does yauzl read for file metadata?",
    "the central directory",
    "central directory",
  ],
  ["yauzl", "In which version of yauzl will dosDateTimeToDate be removed?", "yauzl 4.0.0", "4.0.0"],
  [
    "yauzl",
    "Which class of .NET creates zip files with backslashes in file names?",
    "System.IO.Compression.ZipFile",
    "Microsoft's System.IO.Compression.ZipFile class",
    "System.IO.Compression.ZipFile class",
  ],
  [
    "yauzl",
    "When is the entry event emitted if lazyEntries is true?",
    "in response to each call to readEntry()",
    "each call to readEntry()",
  ],
  [
    "ignore",
    "Which version of the gitignore spec does ignore follow?",
    "2.22.1",
    ".gitignore spec 2.22.1",
  ],
  ["ignore", "How many unit tests does ignore have?", "more than five hundreds", "five hundreds"],
  ["ignore", "What should you use to parse an .npmignore file?", "minimatch"],
  ["ignore", "Since which version does ignore not support node < 6 by default?", "4.0.0"],
  ["ignore", "What does ignore require for node < 6?", "ignore/legacy", "require('ignore/legacy')"],
  [
    "prom-client",
    "How does prom-client aggregate custom metrics across workers by default?",
    "summed",
    "Custom metrics are summed",
  ],
  [
    "prom-client",
    "On which system are metrics about file descriptors and memory available?",
    "Linux",
  ],
  ["prom-client", "What is the default of eventLoopMonitoringPrecision?", "10"],
  ["prom-client", "Which function collects the default metrics?", "collectDefaultMetrics"],
  ["prom-client", "When does a counter reset?", "when the process restarts"],
  ["prom-client", "Which kind of functions should you not use for collect?", "arrow functions"],
  ["cli-progress", "What is the default length of the progress bar in characters?", "40"],
  ["cli-progress", "What is the maximum update rate of cli-progress by default?", "10"],
  ["cli-progress", "Which output stream does cli-progress use by default?", "process.stderr"],
  [
    "cli-progress",
    "What is the default output interval for streams that are no TTY?",
    "2000ms",
    "2000",
  ],
  [
    "cli-progress",
    "Which method forces a calculation of the ETA?",
    "updateETA",
    "updateETA()",
    "::updateETA()",
  ],
  ["chardet", "How large is the packed chardet?", "22 KB", "only 22 KB"],
  ["chardet", "Which method of chardet returns the full list of possible encodings?", "analyse"],
  ["htmlparser2", "Which parser complies strictly with the HTML spec?", "parse5"],
  ["htmlparser2", "Which package is a CSS selector engine for domhandler's DOM?", "css-select"],
  ["htmlparser2", "What does domhandler turn documents into?", "a DOM", "DOM"],
  ["hono", "How large is the hono/tiny preset?", "under 12kB", "12kB"],
  ["hono", "What does the name of hono mean?", "flame", "flame in Japanese", "means flame"],
  ["hono", "Which router of hono is really fast?", "RegExpRouter"],
  [
    "smol-toml",
    "Which version of TOML does smol-toml comply with?",
    "v1.1.0",
    "TOML v1.1.0",
    "1.1.0",
  ],
  ["smol-toml", "In which version was useLegacyDate introduced?", "1.9.0"],
  [
    "yaml",
    "Which license does yaml have?",
    "ISC",
    "ISC open source license",
    "the ISC open source license",
  ],
  ["yaml", "What is the minimum version of TypeScript for yaml?", "3.9"],
];
const ITEMS = QUESTIONS.map(([of, question, ...answers]): Item => ({ of, question, answers }));

const { values } = parseArgs({
  options: { model: { type: "string" }, json: { type: "boolean", default: false } },
});
await using model = await ReAtt.load(values.model);

/** Passages for a question, best first. */
type Search = (question: string) => Promise<readonly Passage[]>;

interface System {
  readonly name: string;
  readonly search: Search;
  /** Only reatt answers. */
  readonly answer?: (question: string) => Promise<string>;
}

interface Row {
  readonly system: string;
  readonly first: number;
  readonly inFive: number;
  readonly right: number | undefined;
  readonly searchMs: number;
  readonly answerMs: number | undefined;
}

/** @param ending of the names of the files, which decides how they are read */
async function withIndex<Result>(
  ending: string,
  work: (index: TokenIndex) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-questions-"));
  try {
    const docs = join(folder, "docs");
    await mkdir(docs);
    for (const name of new Set(ITEMS.map(({ of }) => of)))
      await copyFile(await readme(name), join(docs, `${name}.${ending}`));
    await using index = await model.openOrIndex(docs, { directory: join(folder, "index") });
    return await work(index);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const reatt = (name: string, index: TokenIndex, hybrid?: boolean): System => ({
  name,
  search: async (question) => model.retrieve(question, index, { topK: FIVE, hybrid }),
  answer: async (question) => (await model.answer(question, index, { hybrid })).answer,
});

/** With its defaults: BM25+, all terms of the question optional, no stop words, no stems. */
function miniSearch(passages: readonly Passage[]): System {
  const engine = new MiniSearch({ fields: ["title", "text"] });
  engine.addAll(passages);
  const byId = new Map(passages.map((passage) => [passage.id, passage]));
  const search: Search = async (question) => engine.search(question).map(({ id }) => byId.get(id)!);
  return { name: "MiniSearch", search };
}

/** BM25 over stems without stop words; for hybrid search also cosines of one vector a passage. */
async function orama(index: TokenIndex, isHybrid: boolean): Promise<System> {
  const size = index.header.dimension;
  const schema = { title: "string", text: "string", vector: `vector[${size}]` } as const;
  const tokenizer = { language: "english", stemming: true, stemmer, stopWords: [...stopwords] };
  const database = create({ schema, components: { tokenizer } });
  const passages = new Map<string, Passage>();
  for await (const [ordinal, passage] of index.entries()) {
    const { id, title, text } = passage;
    passages.set(id, passage);
    const vector = meanOfRows(await index.keys(ordinal), size);
    await insert(database, { id, title, text, vector });
  }
  const search: Search = async (term) => {
    const shared = { term, properties: ["title", "text"] as ["title", "text"], limit: FIVE };
    const [keys] = isHybrid ? await model.encodeQuestions([term]) : [];
    const vector = keys && { value: meanOfRows(keys, size), property: "vector" as const };
    const found = await (vector
      ? searchOrama(database, { ...shared, mode: "hybrid", vector, similarity: 0 })
      : searchOrama(database, shared));
    return found.hits.map(({ id }) => passages.get(id)!);
  };
  return { name: isHybrid ? "Orama, hybrid with mean vectors" : "Orama", search };
}

/** [rows, size] -> [size] */
function meanOfRows(rows: Float32Array, size: number): number[] {
  const count = rows.length / size;
  return Array.from({ length: size }, (_, column) => {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += rows[row * size + column]!;
    return sum / count;
  });
}

async function measure({ name, search, answer }: System, ending: string): Promise<Row> {
  let [first, inFive, right] = [0, 0, 0];
  const [searching, answering] = [new Stopwatch(), new Stopwatch()];
  await search(ITEMS[0]!.question); // builds what is built on first use
  for (const { of, question, answers } of ITEMS) {
    const found = (await searching.time(() => search(question))).slice(0, FIVE);
    const places = found.map(
      ({ document, text }) =>
        document === `${of}.${ending}` &&
        answers.some((one) => findAnswerSpan(one, text) !== undefined),
    );
    if (places[0]) first++;
    if (places.includes(true)) inFive++;
    const given = answer && (await answering.time(() => answer(question)));
    const isRight = given !== undefined && exactMatch(given, answers);
    if (isRight) right++;
    if (values.json)
      process.stdout.write(`${JSON.stringify({ name, question, given, places, isRight })}\n`);
  }
  const searchMs = searching.total / ITEMS.length;
  if (!answer)
    return { system: name, first, inFive, right: undefined, searchMs, answerMs: undefined };
  return { system: name, first, inFive, right, searchMs, answerMs: answering.total / ITEMS.length };
}

/** Adds up processor time, of all threads, in milliseconds. */
class Stopwatch {
  total = 0;

  async time<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = process.cpuUsage();
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    this.total += (user + system) / 1000;
    return result;
  }
}

async function readme(name: string): Promise<string> {
  const folder = join("node_modules", name);
  const file = (await readdir(folder)).find((one) => /^readme\.md$/i.test(one));
  if (file === undefined) throw new Error(`${folder} has no README.md`);
  return join(folder, file);
}

const rows = [
  ...(await withIndex("txt", async (index) => [
    await measure(reatt("reatt, read as plain text", index), "txt"),
  ])),
  ...(await withIndex("md", async (index) => {
    const passages: Passage[] = [];
    for await (const [, passage] of index.entries()) passages.push(passage);
    const systems = [
      reatt("reatt", index),
      reatt("reatt, the model alone", index, false),
      miniSearch(passages),
      await orama(index, false),
      await orama(index, true),
    ];
    const all: Row[] = [];
    for (const system of systems) all.push(await measure(system, "md"));
    return all;
  })),
];
const shown = (value: number | undefined): string => (value === undefined ? "" : value.toFixed(0));
process.stdout.write(
  [
    `| ${ITEMS.length} questions | first | in 5 | answer right | search, ms | answer, ms |`,
    "|---|---|---|---|---|---|",
    ...rows.map(
      ({ system, first, inFive, right, searchMs, answerMs }) =>
        `| ${system} | ${first} | ${inFive} | ${shown(right)} | ${searchMs.toFixed(1)} | ${shown(answerMs)} |`,
    ),
    "",
  ].join("\n"),
);
