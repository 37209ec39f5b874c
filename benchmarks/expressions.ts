/**
 * Reads 300 made-up sentences of 30 kinds: numbers, dates, addresses, versions, prices, formulas
 * and names that repeat a word. Prints the exact match of each kind, and how many answers cut an
 * expression, and how many stand elsewhere than the answer.
 *
 *     npx tsx benchmarks/expressions.ts [--model DIR] [--json]
 */

import { parseArgs } from "node:util";
import { createRandom, type Random } from "../src/math/random.ts";
import { ReAtt } from "../src/reatt.ts";

const PER_KIND = 10;

interface Item {
  readonly question: string;
  readonly text: string;
  readonly answer: string;
}
type Kind = (draw: Draw) => Item;

/** Draws of one sentence. */
interface Draw {
  /** A whole number of [from, to]. */
  number(from: number, to: number): number;
  pick<T>(values: readonly T[]): T;
}

const two = (value: number): string => String(value).padStart(2, "0");
const grouped = (value: number): string => value.toLocaleString("en-US");
const TOWNS = ["Bergen", "Lucerne", "Porto", "Galway", "Tartu", "Nantes", "Siena", "Graz"];
const MONTHS = ["January", "March", "April", "June", "August", "October", "December"];

const KINDS: Readonly<Record<string, Kind>> = {
  "groups of thousands": ({ number, pick }) => {
    const group = pick(["000", "500", "111"]);
    const answer = `${number(1, 9)},${group},${group}`;
    const town = pick(TOWNS);
    return {
      question: `How many people live in ${town}?`,
      text: `The region around ${town} is large. About ${answer} people live in ${town} today.`,
      answer,
    };
  },
  "grouped numbers": ({ number, pick }) => {
    const answer = grouped(number(10_000, 99_000_000));
    return {
      question: "How many books does the library have?",
      text: `The library of ${pick(TOWNS)} has ${answer} books and a reading room.`,
      answer,
    };
  },
  decimals: ({ number, pick }) => {
    const answer = `${number(1, 9)}.${number(10, 99)}`;
    return {
      question: "What is the density of the stone?",
      text: `The stone from ${pick(TOWNS)} is heavy. The density of the stone is ${answer} and it is grey.`,
      answer,
    };
  },
  "repeated decimals": ({ number, pick }) => {
    const n = number(2, 9);
    const answer = `${n}.${n}`;
    return {
      question: "What is the rate of inflation?",
      text: `The bank in ${pick(TOWNS)} reports that the rate of inflation is ${answer} percent.`,
      answer,
    };
  },
  "IPv4 addresses": ({ number, pick }) => {
    const n = number(1, 9);
    const answer = pick([`${n}.${n}.${n}.${n}`, `10.${n}.0.${n}`, `192.168.${n}.${n}`]);
    return {
      question: "What is the address of the name server?",
      text: `The router is new. The address of the name server is ${answer} and it answers quickly.`,
      answer,
    };
  },
  "times of day": ({ number, pick }) => {
    const answer = `${number(1, 23)}:${two(number(0, 59))}`;
    return {
      question: "When does the train leave?",
      text: `The train to ${pick(TOWNS)} leaves at ${answer} from the second platform.`,
      answer,
    };
  },
  "ranges of times": ({ number, pick }) => {
    const answer = `${number(7, 11)}:00 to ${number(13, 20)}:00`;
    return {
      question: "What are the opening hours of the museum?",
      text: `The opening hours of the museum in ${pick(TOWNS)} are ${answer} every day.`,
      answer,
    };
  },
  "ISO dates": ({ number }) => {
    const answer = `${number(1990, 2030)}-${two(number(1, 12))}-${two(number(1, 28))}`;
    return {
      question: "On which date was the form signed?",
      text: `The form was signed on ${answer} by both partners.`,
      answer,
    };
  },
  "dates with strokes": ({ number, pick }) => {
    const day = number(1, 12);
    const answer = `${two(day)}/${two(day)}/${number(1990, 2030)}`;
    return {
      question: "When was the photograph taken?",
      text: `The photograph of ${pick(TOWNS)} was taken on ${answer} by a tourist.`,
      answer,
    };
  },
  "dates in words": ({ number, pick }) => {
    const answer = `${number(1, 28)} ${pick(MONTHS)} ${number(1700, 2020)}`;
    return {
      question: "When was the bridge opened?",
      text: `The bridge in ${pick(TOWNS)} was opened on ${answer} after a long delay.`,
      answer,
    };
  },
  versions: ({ number }) => {
    const n = number(1, 9);
    const answer = `${n}.${number(0, 9)}.${n}`;
    return {
      question: "Which version of the program is required?",
      text: `The program runs on many systems. Version ${answer} of the program is required.`,
      answer,
    };
  },
  "pre-release versions": ({ number, pick }) => {
    const answer = `v${number(1, 4)}.0.0-${pick(["beta", "rc", "alpha"])}.${number(1, 9)}`;
    return {
      question: "Which release did the team publish?",
      text: `On Monday the team published ${answer} for testing.`,
      answer,
    };
  },
  "phone numbers": ({ number }) => {
    const answer = `${number(200, 999)}-555-0${number(100, 199)}`;
    return {
      question: "What is the phone number of the office?",
      text: `The office is open daily. The phone number of the office is ${answer} on weekdays.`,
      answer,
    };
  },
  "international phone numbers": ({ number }) => {
    const n = number(10, 99);
    const answer = `+${number(30, 49)} ${n} ${number(1000, 9999)} ${n}${n}`;
    return {
      question: "Which number should guests call?",
      text: `Guests should call ${answer} before they arrive.`,
      answer,
    };
  },
  "prices in dollars": ({ number }) => {
    const answer = `$${grouped(number(1_000, 99_999))}.${two(number(1, 99))}`;
    return {
      question: "How much does the machine cost?",
      text: `The machine costs ${answer} without the stand.`,
      answer,
    };
  },
  "prices in euros": ({ number }) => {
    const answer = `€${number(2, 99)}.${two(number(1, 99))}`;
    return {
      question: "How much is a ticket?",
      text: `A ticket is ${answer} for adults and free for children.`,
      answer,
    };
  },
  percentages: ({ number }) => {
    const n = number(2, 99);
    const answer = `${n}.${n}%`;
    return {
      question: "What share of the votes did the mayor win?",
      text: `The mayor won ${answer} of the votes in the second round.`,
      answer,
    };
  },
  temperatures: ({ number, pick }) => {
    const answer = `−${number(10, 60)} °C`;
    return {
      question: "What was the lowest temperature?",
      text: `Winters in ${pick(TOWNS)} are hard. The lowest temperature was ${answer} in January.`,
      answer,
    };
  },
  "programming languages": ({ pick }) => {
    const answer = pick(["C++", "C#", "F#", "C++", "J++"]);
    return {
      question: "Which language is the engine written in?",
      text: `The engine is written in ${answer} because it has to be fast.`,
      answer,
    };
  },
  "file names": ({ pick, number }) => {
    const name = pick(["main", "index", "readme", "setup"]);
    const answer = `${name}.${name}${number(1, 9)}.js`;
    return {
      question: "In which file is the setting stored?",
      text: `The setting is stored in ${answer} next to the program.`,
      answer,
    };
  },
  "e-mail addresses": ({ pick, number }) => {
    const answer = `${pick(["ann", "info", "press"])}.${pick(["lee", "desk"])}${number(1, 9)}@example.org`;
    return {
      question: "Where should complaints be sent?",
      text: `Complaints should be sent to ${answer} within a week.`,
      answer,
    };
  },
  "web addresses": ({ pick, number }) => {
    const page = pick(["help", "news", "docs"]);
    const answer = `https://www.example.org/${page}/${page}${number(1, 9)}`;
    return {
      question: "Where can the manual be found?",
      text: `The manual can be found at ${answer} in three languages.`,
      answer,
    };
  },
  "chemical formulas": ({ pick }) => {
    const answer = pick(["H2SO4", "C6H12O6", "Ca(OH)2", "Na2CO3", "Fe2O3", "CH3CH2OH"]);
    return {
      question: "What is the formula of the compound?",
      text: `The compound dissolves in water. The formula of the compound is ${answer} and it is stable.`,
      answer,
    };
  },
  ratios: ({ number }) => {
    const n = number(2, 20);
    const answer = `${n}:${n}`;
    return {
      question: "In what ratio are sand and cement mixed?",
      text: `Sand and cement are mixed in a ratio of ${answer} before water is added.`,
      answer,
    };
  },
  "scores of matches": ({ number, pick }) => {
    const n = number(0, 6);
    const answer = `${n}-${n}`;
    return {
      question: "What was the final score?",
      text: `The match in ${pick(TOWNS)} was close. The final score was ${answer} after extra time.`,
      answer,
    };
  },
  "part numbers": ({ number, pick }) => {
    const n = number(10, 99);
    const answer = `${pick(["AB", "XR", "KT"])}-${n}-${n}`;
    return {
      question: "Which part has to be replaced?",
      text: `The technician said that part ${answer} has to be replaced soon.`,
      answer,
    };
  },
  "book numbers": ({ number }) => {
    const answer = `978-${number(0, 9)}-${number(100, 999)}-${number(10000, 99999)}-${number(0, 9)}`;
    return {
      question: "What is the ISBN of the guide?",
      text: `The guide is out of print. The ISBN of the guide is ${answer} in the second edition.`,
      answer,
    };
  },
  "names that repeat a word": ({ pick }) => {
    const answer = pick([
      "Duran Duran",
      "Boutros Boutros-Ghali",
      "Sirhan Sirhan",
      "Bora Bora",
      "Walla Walla",
      "J. R. R. Tolkien",
      "New York, New York",
    ]);
    return {
      question: "What did the author write about?",
      text: `In a long essay, the author wrote about ${answer} and what it meant to her.`,
      answer,
    };
  },
  "amounts in words": ({ number, pick }) => {
    const answer = `$${number(1, 9)}.${number(1, 9)} ${pick(["million", "billion"])}`;
    return {
      question: "How much did the company pay for the factory?",
      text: `The company paid ${answer} for the factory in ${pick(TOWNS)}.`,
      answer,
    };
  },
  "the second of two equal words": ({ number, pick }) => {
    const answer = String(number(1800, 1990));
    const town = pick(TOWNS);
    return {
      question: `When was the harbour of ${town} built?`,
      text: `House ${answer} is a hotel in ${town}. The harbour of ${town} was built in ${answer} by engineers.`,
      answer,
    };
  },
};

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    json: { type: "boolean", default: false },
  },
});

const drawsOf = (random: Random): Draw => ({
  number: (from, to) => from + random.integer(to - from + 1),
  pick: (options) => options[random.integer(options.length)]!,
});

await using model = await ReAtt.load(values.model);
const rows: { kind: string; exact: number; cut: number; place: number }[] = [];
const wrong: string[] = [];
for (const [kind, make] of Object.entries(KINDS)) {
  const row = { kind, exact: 0, cut: 0, place: 0 };
  for (let i = 0; i < PER_KIND; i++) {
    const { question, text, answer } = make(drawsOf(createRandom("expressions", kind, i)));
    const passage = { id: "p", title: "", text };
    const reply = await model.read(question, [passage], { minimumConfidence: 0 });
    const start = text.lastIndexOf(answer);
    if (reply.answer === answer) row.exact++;
    else if (answer.includes(reply.answer)) row.cut++;
    if (reply.answer === answer && reply.passages[0]!.span?.start !== start) row.place++;
    if (reply.answer !== answer) wrong.push(`${kind}: ${answer} -> ${reply.answer}`);
  }
  rows.push(row);
}
const sum = (name: "exact" | "cut" | "place") => rows.reduce((total, row) => total + row[name], 0);
if (values.json) process.stdout.write(`${JSON.stringify({ rows, wrong })}\n`);
else {
  for (const { kind, exact, cut, place } of rows)
    process.stdout.write(
      `${kind.padEnd(32)}${exact}/${PER_KIND} exact, ${cut} cut, ${place} elsewhere\n`,
    );
  const total = rows.length * PER_KIND;
  process.stdout.write(
    `\n${total} sentences: ${sum("exact")} exact, ${sum("cut")} cut, ${sum("place")} at another place\n`,
  );
}
