/**
 * Made-up tables and lists with questions: what a reader needs beside running text. Names, values
 * and wordings of questions are in table-subjects.txt:
 *
 *     # Title / another title
 *     Head / another head = Name; Name; ...             names of the rows
 *     Head / another head = KIND ? Question about {e} ? Question for {v} <
 *
 * `{e}` is the name of a row, `{e:l}` the same in lower case, `{v}` a value. A question with `<`
 * asks for the row of a value.
 */

import type { Random } from "../../../src/math/random.ts";

interface Column {
  readonly heads: readonly string[];
  /** What its values are; of the first column, the names. */
  readonly kind: string;
  readonly asked: readonly string[];
  /** Questions for the row of a value. */
  readonly reverse: readonly string[];
}

export interface Subject {
  readonly titles: readonly string[];
  readonly rows: Column;
  readonly columns: readonly Column[];
}

export interface TableQuestion {
  readonly question: string;
  /** The characters of the answer in the text. */
  readonly start: number;
  readonly end: number;
  /** The name or value that the question names: another table without it has no answer. */
  readonly about: string;
}

export interface MadeTable {
  readonly title: string;
  readonly text: string;
  readonly questions: readonly TableQuestion[];
}

export function parseSubjects(text: string): Subject[] {
  const blocks = text.trim().split(/\n\n+/);
  return blocks.map((block) => {
    const [title, rows, ...columns] = block.split("\n");
    const titles = title!.slice(2).split(" / ");
    return { titles, rows: columnOf(rows!), columns: columns.map(columnOf) };
  });
}

function columnOf(line: string): Column {
  const [definition, ...questions] = line.split(" ? ");
  const [heads, kind] = definition!.split(" = ") as [string, string];
  const isReverse = (question: string): boolean => question.endsWith(" <");
  return {
    heads: heads.split(" / "),
    kind,
    asked: questions.filter((one) => !isReverse(one)),
    reverse: questions.filter(isReverse).map((one) => one.slice(0, -2)),
  };
}

const FIRST_NAMES =
  "Anna Ben Clara David Elena Farid Grace Hiro Irene Jonas Kemal Laura Mehmet Nora Omar Paula Quentin Rosa Samir " +
  "Tessa Umar Vera Wen Yara Zoe Ingrid Luca Mira Pavel Sofia";
const LAST_NAMES =
  "Abbott Becker Castillo Dahl Eriksen Fischer Gupta Hansen Ito Jansen Kowalski Lindqvist Moreau Novak Okoye Petrov " +
  "Quist Rossi Sato Tanaka Ueda Varga Weber Xu Yilmaz Zeller Brandt Costa Duarte Ekman";
const CURRENCIES = ["EUR", "USD", "GBP", "CHF"];

type Draw = Random & { of<T>(items: readonly T[]): T };

const drawOf = (random: Random): Draw => ({
  ...random,
  of: (items) => items[random.integer(items.length)]!,
});

/** A value of a column, as text. */
function drawValue(kind: string, draw: Draw, currency: string): string {
  const [name, range = "", ...unit] = kind.split(" ");
  if (name === "of") return draw.of(kind.slice(3).split("; "));
  const [low, high] = range.split("-").map(Number) as [number, number];
  const whole = (from = low, to = high): number => from + draw.integer(to - from + 1);
  const withUnit = (value: string): string => [value, ...unit].join(" ");
  const two = (value: number): string => String(value).padStart(2, "0");
  switch (name) {
    case "int":
      return withUnit(grouped(rounded(whole()), draw));
    case "dec":
      return withUnit((whole() + draw.integer(100) / 100).toFixed(1 + draw.integer(2)));
    case "money": {
      const cents = high < 100 && draw.next() < 0.5 ? `.${two(5 * draw.integer(20))}` : "";
      return `${grouped(rounded(whole()), draw)}${cents} ${currency}`;
    }
    case "time":
      return `${whole()}:${two(5 * draw.integer(12))}`;
    case "date": {
      const month = draw.of(MONTHS);
      return `${1 + draw.integer(28)} ${month}${draw.next() < 0.4 ? ` ${whole(2019, 2027)}` : ""}`;
    }
    case "years": {
      const first = whole(1789, 1998);
      return `${first} to ${first + 1 + draw.integer(12)}`;
    }
    case "code":
      return `${draw.of([..."ABCDEF"])}${draw.of(["", " "])}${1 + draw.integer(60)}`;
    case "part":
      return `${draw.of(["AX", "K", "TR-", "90", "M"])}${1_000 + draw.integer(9_000)}`;
    case "ver":
      return `${1 + draw.integer(6)}.${draw.integer(12)}`;
    case "ip":
      return `10.${draw.integer(20)}.${draw.integer(256)}.${1 + draw.integer(250)}`;
    case "dim":
      return `${20 + draw.integer(180)} x ${20 + draw.integer(200)} ${range}`;
    case "person":
      return `${draw.of(FIRST_NAMES.split(" "))} ${draw.of(LAST_NAMES.split(" "))}`;
    default:
      throw new Error(`expected a kind of value, got ${kind}`);
  }
}

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );

const rounded = (value: number): number => (value > 2_100 ? Math.round(value / 10) * 10 : value);

/** Years have no separator. */
const grouped = (value: number, draw: Draw): string =>
  value > 2_100 && draw.next() < 0.7 ? value.toLocaleString("en-US") : String(value);

/** A table as cells: the first row has the heads, the first column the names. */
interface Cells {
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Of each column but the first. */
  readonly columns: readonly Column[];
}

export function makeTable(subject: Subject, random: Random): MadeTable {
  const draw = drawOf(random);
  const cells = cellsOf(subject, draw);
  const { text, places } = write(cells, draw);
  return { title: cells.title, text, questions: ask(cells, places, draw) };
}

function cellsOf({ titles, rows, columns }: Subject, draw: Draw): Cells {
  const currency = draw.of(CURRENCIES);
  const count = 2 + draw.integer(7);
  const names = new Set<string>();
  const given = rows.kind.split("; ");
  for (const name of draw.shuffle(given).slice(0, count))
    names.add(rows.kind === "person" ? drawValue("person", draw, currency) : name);
  while (rows.kind === "person" && names.size < count)
    names.add(drawValue("person", draw, currency));
  const shown = draw.shuffle(columns).slice(0, 1 + draw.integer(Math.min(5, columns.length)));
  return {
    title: draw.of(titles),
    heads: [rows, ...shown].map(({ heads }) => draw.of(heads)),
    rows: [...names].map((name) => [
      name,
      ...shown.map(({ kind }) => drawValue(kind, draw, currency)),
    ]),
    columns: shown,
  };
}

/** Text that is put together, and where each cell stands in it. */
class Writer {
  text = "";
  readonly #places = new Map<string, number>();

  add(text: string): this {
    this.text += text;
    return this;
  }

  cell(row: number, column: number, text: string): this {
    this.#places.set(`${row} ${column}`, this.text.length);
    return this.add(text);
  }

  place(row: number, column: number): number | undefined {
    return this.#places.get(`${row} ${column}`);
  }
}

type Form = (cells: Cells, out: Writer, draw: Draw) => void;

/** `a | b | c`, the heads first. */
const rowsWithBars: Form = ({ heads, rows }, out, draw) => {
  const isMarkdown = draw.next() < 0.25;
  const [before, after] = isMarkdown ? ["| ", " |"] : ["", ""];
  out.add(`${before}${heads.join(" | ")}${after}`);
  if (isMarkdown) out.add(`\n|${" --- |".repeat(heads.length)}`);
  for (const [i, row] of rows.entries()) {
    out.add(`\n${before}`);
    for (const [j, cell] of row.entries()) out.add(j > 0 ? " | " : "").cell(i, j, cell);
    out.add(after);
  }
};

/** Columns and rows exchanged. */
const turned: Form = ({ heads, rows }, out, draw) => {
  const isLabelled = draw.next() < 0.5;
  out.add(draw.of(["", heads[0]!]));
  for (const [i, row] of rows.entries()) out.add(" | ").cell(i, 0, row[0]!);
  for (const [j, head] of heads.entries()) {
    if (j === 0) continue;
    out.add(`\n${head}`);
    for (const [i, row] of rows.entries())
      out.add(isLabelled ? ` | ${row[0]}: ` : " | ").cell(i, j, row[j]!);
  }
};

/** `Head: a, Head: b.`, with several marks. */
const labelled: Form = ({ heads, rows }, out, draw) => {
  const colon = draw.of([": ", ": ", ": ", " is ", " = ", " "]);
  const between = draw.of([", ", ", ", "; ", " | "]);
  const end = draw.of([".", ".", "", ";"]);
  const isNamed = draw.next() < 0.6;
  const afterName = draw.of([": ", ", "]);
  for (const [i, row] of rows.entries()) {
    out.add(i > 0 ? "\n" : "");
    for (const [j, cell] of row.entries()) {
      if (j > 0) out.add(!isNamed && j === 1 ? afterName : between);
      if (j > 0 || isNamed) out.add(`${heads[j]}${colon}`);
      out.cell(i, j, cell);
    }
    out.add(end);
  }
};

/** The fields of a record, one a line. */
const records: Form = ({ heads, rows }, out) => {
  for (const [i, row] of rows.slice(0, 2).entries()) {
    out.add(i > 0 ? "\n\n" : "");
    for (const [j, cell] of row.entries())
      out.add(`${j > 0 ? "\n" : ""}${heads[j]}: `).cell(i, j, cell);
  }
};

/** `- a: b, c`, without heads. */
const list: Form = ({ rows }, out, draw) => {
  const mark = draw.of(["- ", "• ", "", "1"]);
  const shown = draw.next() < 0.7 ? 2 : 3;
  const marks = ["", draw.of([": ", " - ", ", "]), draw.of([", ", ". ", "; "])];
  const end = draw.of(["", "."]);
  for (const [i, row] of rows.entries()) {
    out.add(i > 0 ? "\n" : "").add(mark === "1" ? `${i + 1}. ` : mark);
    for (const [j, cell] of row.slice(0, shown).entries()) out.add(marks[j]!).cell(i, j, cell);
    out.add(end);
  }
};

/** Shares of the forms. */
const FORMS: readonly [Form, number][] = [
  [rowsWithBars, 0.3],
  [turned, 0.1],
  [labelled, 0.35],
  [records, 0.1],
  [list, 0.15],
];

function write(cells: Cells, draw: Draw): { text: string; places: Writer } {
  const drawn = draw.next();
  let sum = 0;
  const form = FORMS.find(([, share]) => {
    sum += share;
    return drawn < sum;
  });
  const places = new Writer();
  (form ?? FORMS[0]!)[0](cells, places, draw);
  return { text: places.text, places };
}

const QUESTIONS = 4;
/** Shares of questions that are made of the head alone, and that ask for the row of a value. */
const FROM_HEAD = 0.35;
const REVERSE = 0.25;

function ask({ heads, rows, columns }: Cells, places: Writer, draw: Draw): TableQuestion[] {
  const made: TableQuestion[] = [];
  for (let tries = 0; tries < 4 * QUESTIONS && made.length < QUESTIONS; tries++) {
    const [i, j] = [draw.integer(rows.length), draw.integer(columns.length)];
    const { asked, reverse } = columns[j]!;
    const [name, value] = [rows[i]![0]!, rows[i]![j + 1]!];
    const isReverse = reverse.length > 0 && draw.next() < REVERSE;
    if (isReverse && rows.filter((row) => row[j + 1] === value).length > 1) continue;
    if (places.place(i, j + 1) === undefined) continue; // a list leaves some out
    const [answer, column] = isReverse ? [name, 0] : [value, j + 1];
    const start = places.place(i, column)!;
    if (made.some((one) => one.start === start)) continue;
    const question = isReverse
      ? filled(draw.of(reverse), name, value)
      : draw.next() < FROM_HEAD
        ? fromHead(heads[j + 1]!, name, draw)
        : filled(draw.of(asked), name, value);
    made.push({ question, start, end: start + answer.length, about: isReverse ? value : name });
  }
  return made;
}

const lower = (text: string): string =>
  text.replace(/^\p{Lu}(?=\p{Ll})/u, (first) => first.toLowerCase());

const filled = (question: string, name: string, value: string): string =>
  question.replaceAll("{e:l}", lower(name)).replaceAll("{e}", name).replaceAll("{v}", value);

const fromHead = (head: string, name: string, draw: Draw): string =>
  draw
    .of([
      "What is the HEAD of NAME?",
      "HEAD of NAME",
      "NAME HEAD",
      "What is the HEAD for NAME?",
      "HEAD NAME?",
    ])
    .replace("HEAD", lower(head))
    .replace("NAME", name);
