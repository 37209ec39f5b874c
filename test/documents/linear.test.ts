/** Constructs of which a document can have many: four times as many take four times the time. */

import { test } from "uvu";
import { assertLinear } from "../support/linear-time.ts";
import { readOne } from "./support.ts";

const numbers = (count: number): number[] => [...Array(count).keys()];
const lines = (count: number, line: (n: number) => string): string =>
  numbers(count).map(line).join("\n");

interface Construct {
  readonly name: string;
  readonly file: string;
  readonly size: number;
  make(size: number): string;
}

const CONSTRUCTS: readonly Construct[] = [
  {
    name: "notes that name each other",
    file: "a.md",
    size: 3_000,
    make: (size) => `A.[^0]\n\n${lines(size, (n) => `[^${n}]: See.[^${n + 1}]\n`)}`,
  },
  {
    name: "notes in the text",
    file: "a.md",
    size: 3_000,
    make: (size) => lines(size, (n) => `A.^[Note ${n}.]\n`),
  },
  ...["a.md", "a.html", "a.rst"].map((file) => ({
    name: "lines of a paragraph",
    file,
    size: 15_000,
    make: (size: number) => lines(size, () => "a"),
  })),
  ...["sup", "sub"].map((name) => ({
    name,
    file: "a.html",
    size: 10_000,
    make: (size: number) => `<p>${`x<${name}>2</${name}>`.repeat(size)}</p>`,
  })),
  {
    name: "symbols of a formula",
    file: "a.html",
    size: 10_000,
    make: (size) => `<math>${"<mi>x</mi>".repeat(size)}</math>`,
  },
  {
    name: "items of a list",
    file: "a.html",
    size: 10_000,
    make: (size) => `<ul>${"<li>a</li>".repeat(size)}</ul>`,
  },
  {
    name: "records of a line each",
    file: "a.txt",
    size: 3_000,
    make: (size) => lines(size, (n) => `n${n}\t${n} x # A comment`),
  },
  ...["==a ", "{: a", "10^", "a~b", "==a== "].map((part) => ({
    name: `marks "${part}"`,
    file: "a.md",
    size: 5_000,
    make: (size: number) => part.repeat(size),
  })),
  ...["`a`:", ":a:`", "a\\"].map((part) => ({
    name: `marks "${part}"`,
    file: "a.rst",
    size: 5_000,
    make: (size: number) => part.repeat(size),
  })),
  {
    name: "types of parts",
    file: "a.eml",
    size: 5_000,
    make: (size) => `Subject: A\n\n${"Content-Type: multipart/mixed;\n x\n".repeat(size)}`,
  },
  {
    name: "empty rows between tables",
    file: "a.csv",
    size: 3_000,
    make: (size) => "boat,fee\nHeron,40\n\n".repeat(size),
  },
  {
    name: "keys of front matter",
    file: "a.md",
    size: 2_000, // four times as many have 64 kB, which is the most
    make: (size) => `---\n${lines(size, (n) => `k${n.toString(36)}: 1`)}\n---\n\nText.`,
  },
];

for (const { name, file, size, make } of CONSTRUCTS)
  test(`${file}: ${name}`, async () => {
    const work = (size: number) => readOne(file, make(size), { onSkip: () => {} });
    await assertLinear(work, size, name);
  });

test.run();
