/**
 * Asks 40 questions about the README files of ten installed packages, once with the Markdown read
 * as plain text and once rendered. Prints for how many the first passage has the answer, and how
 * many answers are right.
 *
 *     npx tsx benchmarks/markdown-questions.ts [--model DIR] [--json]
 */

import { copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch } from "../src/evaluation/answers.ts";
import { ReAtt } from "../src/reatt.ts";
import { findAnswerSpan } from "../src/text/answer-span.ts";

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

/** @param ending of the names that the files get, which decides how they are read */
async function ask(ending: string): Promise<{ first: number; right: number; passages: number }> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-questions-"));
  try {
    const docs = join(folder, "docs");
    await mkdir(docs);
    for (const name of new Set(ITEMS.map(({ of }) => of)))
      await copyFile(await readme(name), join(docs, `${name}.${ending}`));
    await using index = await model.openOrIndex(docs, { directory: join(folder, "index") });
    let [first, right] = [0, 0];
    for (const { of, question, answers } of ITEMS) {
      const { answer, passages } = await model.answer(question, index);
      const best = passages[0];
      const isFirst =
        best?.document === `${of}.${ending}` &&
        answers.some((one) => findAnswerSpan(one, best.text) !== undefined);
      if (isFirst) first++;
      const isRight = answer !== undefined && exactMatch(answer, answers);
      if (isRight) right++;
      if (values.json)
        process.stdout.write(`${JSON.stringify({ ending, question, answer, isFirst, isRight })}\n`);
    }
    return { first, right, passages: index.passageCount };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readme(name: string): Promise<string> {
  const folder = join("node_modules", name);
  const file = (await readdir(folder)).find((one) => /^readme\.md$/i.test(one));
  if (file === undefined) throw new Error(`${folder} has no README.md`);
  return join(folder, file);
}

for (const [what, ending] of [
  ["plain text", "txt"],
  ["Markdown", "md"],
] as const) {
  const { first, right, passages } = await ask(ending);
  process.stdout.write(
    `${what}: ${passages} passages, first passage with the answer ${first} of ${ITEMS.length}, ` +
      `answer right ${right}\n`,
  );
}
