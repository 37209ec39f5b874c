/**
 * Asks questions about tables in Markdown or CSV files, with the defaults of `answer`, and prints
 * what is answered and how many are right: the answer matches exactly, but for case, articles and
 * marks.
 *
 *     npx tsx benchmarks/table-questions.ts [--model DIR] [--questions FILE] [--csv]
 *
 * A file has tables (`# Title`, then rows of cells with `|` between them, the names of the columns
 * first), each with questions (`? Question = answer`). No model was trained on them. In
 * `manuals.txt` most tables are of real manuals.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch } from "../src/evaluation/answers.ts";
import { ReAtt } from "../src/reatt.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    questions: { type: "string", default: "benchmarks/table-questions/everyday.txt" },
    csv: { type: "boolean", default: false },
  },
});

interface Table {
  readonly name: string;
  readonly document: string;
  readonly questions: readonly (readonly [question: string, answer: string])[];
}

function tableOf(text: string): Table {
  const lines = text.trim().split("\n");
  const asked = lines.filter((line) => line.startsWith("? "));
  const [title, names, ...rows] = lines.filter((line) => !line.startsWith("? "));
  return {
    ...documentOf(title!.slice(2), [names!, ...rows]),
    questions: asked.map((line) => {
      const at = line.lastIndexOf(" = ");
      return [line.slice(2, at), line.slice(at + 3)];
    }),
  };
}

function documentOf(title: string, rows: readonly string[]): Omit<Table, "questions"> {
  if (values.csv) {
    const quoted = (cell: string): string => `"${cell.trim().replaceAll('"', '""')}"`;
    const lines = rows.map((row) => row.split("|").map(quoted).join(","));
    return { name: `${title.replace(/\W+/g, " ")}.csv`, document: `${lines.join("\n")}\n` };
  }
  const rule = rows[0]!.replace(/[^|]+/g, " --- ");
  const lines = [rows[0]!, rule, ...rows.slice(1)].map((row) => `| ${row} |`);
  return {
    name: `${title.replace(/\W+/g, " ")}.md`,
    document: `# ${title}\n\n${lines.join("\n")}\n`,
  };
}

const text = await readFile(values.questions, "utf8");
const tables = text.split(/^(?=# )/m).map(tableOf);
const work = await mkdtemp(join(tmpdir(), "tables-"));
try {
  await mkdir(join(work, "documents"));
  for (const { name, document } of tables) await writeFile(join(work, "documents", name), document);
  await using model = await ReAtt.load(values.model);
  const directory = join(work, "index");
  await using index = await model.openOrIndex(join(work, "documents"), { directory });
  let [right, asked] = [0, 0];
  for (const [question, expected] of tables.flatMap(({ questions }) => questions)) {
    const { answer, confidence } = await model.answer(question, index);
    const isRight = exactMatch(answer, [expected]);
    right += Number(isRight);
    asked++;
    console.log(`${isRight ? "right" : "     "} ${confidence.toFixed(2)} ${question} -> ${answer}`);
  }
  console.log(`${right} of ${asked} right`);
} finally {
  await rm(work, { recursive: true });
}
