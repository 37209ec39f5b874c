/**
 * Made-up documents of five kinds: towns by year in a table, parts in CSV, hosts in lines, people
 * in a list, lighthouses in sentences, with questions about records that are there, and about
 * others.
 */

import { createRandom } from "../../src/math/random.ts";

const ABSENT = 16;
const PRESENT = 18;
/** A question about a record. */
export interface AskedRecord {
  readonly question: string;
  /** What a right answer contains; undefined for a record that is not there. */
  readonly answer?: string;
}

/** A document with records of a kind, and questions about it. */
export interface MadeDocument {
  readonly name: string;
  readonly format: string;
  readonly content: string;
  readonly asked: readonly AskedRecord[];
}

const SYLLABLES = "bar cor del fen gal hol kin lun mar nor pel ros sil tor ver wex".split(" ");
const ENDINGS = "by ton wick ham stead ford mouth gate".split(" ");

/** Draws what a seed determines. */
function openMaker(seed: number) {
  const random = createRandom("absent records", seed);
  const names = new Set<string>();
  const pick = <Item>(list: readonly Item[]): Item => list[random.integer(list.length)]!;
  /** A name that occurs once. */
  const makeName = (endings: readonly string[] = ENDINGS): string => {
    const name = pick(SYLLABLES) + pick(endings);
    if (names.has(name)) return makeName(endings.map((ending) => pick(SYLLABLES) + ending));
    names.add(name);
    return name[0]!.toUpperCase() + name.slice(1);
  };
  return {
    ...{ makeName, pick },
    shuffle: <Item>(list: readonly Item[]): Item[] => random.shuffle(list),
    number: (from: number, to: number): number => from + random.integer(to - from),
  };
}

type Maker = ReturnType<typeof openMaker>;

const list = <Item>(count: number, item: (i: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i));

/** Questions about some of the records, and the same about others. */
function ask<Record_>(
  there: readonly Record_[],
  others: readonly Record_[],
  question: (record: Record_, i: number) => string,
  answer: (record: Record_, i: number) => string,
): AskedRecord[] {
  return [
    ...list(PRESENT, (i) => {
      const record = there[i % there.length]!;
      return { question: question(record, i), answer: answer(record, i) };
    }),
    ...list(ABSENT, (i) => ({ question: question(others[i % others.length]!, i) })),
  ];
}

function towns({ makeName, number, shuffle }: Maker): MadeDocument {
  const years = [1951, 1961, 1971, 1981, 1991, 2001];
  const rows = list(10, () => ({ town: makeName(), counts: years.map(() => number(800, 9000)) }));
  const cells = rows.flatMap(({ town, counts }) =>
    years.map((year, i) => ({ town, year, count: counts[i]! })),
  );
  const others = [
    ...rows.map(({ town }) => ({ town, year: number(1982, 1990), count: 0 })),
    ...list(8, () => ({ town: makeName(), year: 1981, count: 0 })),
  ];
  const table = rows.map(({ town, counts }) => `| ${[town, ...counts].join(" | ")} |`);
  const head = `| Town | ${years.join(" | ")} |\n|${"---|".repeat(years.length + 1)}`;
  return {
    ...{ name: "towns", format: "md" },
    content: `# Inhabitants by census\n\n${head}\n${table.join("\n")}\n`,
    asked: ask(
      shuffle(cells),
      shuffle(others),
      ({ town, year }, i) =>
        i % 2 ? `population of ${town} in ${year}` : `How many people lived in ${town} in ${year}?`,
      ({ count }) => `${count}`,
    ),
  };
}

function parts({ number, pick, shuffle }: Maker): MadeDocument {
  const numbers = shuffle(list(400, (i) => 4000 + i));
  const words = ["Gasket", "Impeller", "Shaft seal", "Bearing", "Hose clamp", "Valve", "Filter"];
  const all = numbers.slice(0, 40).map((part) => ({
    part: `KX-${part}`,
    price: `${number(3, 90)}.${number(10, 99)}`,
    text: `${pick(words)} ${number(10, 90)} mm`,
  }));
  const there = all.slice(0, 20);
  const lines = there.map(({ part, text, price }) => `${part},${text},${price}`);
  return {
    ...{ name: "parts", format: "csv" },
    content: `part,description,price\n${lines.join("\n")}\n`,
    asked: ask(
      there,
      all.slice(20),
      ({ part }, i) => (i % 2 ? `price of ${part}` : `What does part ${part} cost?`),
      ({ price }) => price,
    ),
  };
}

function hosts({ makeName, number }: Maker): MadeDocument {
  const all = list(36, (i) => ({
    host: `${makeName().toLowerCase()}.example.org`,
    address: `10.0.${number(1, 9)}.${10 + i}`,
  }));
  const there = all.slice(0, 18);
  const lines = there.map(({ host, address }) => `${address.padEnd(12)}${host}`);
  return {
    ...{ name: "hosts", format: "txt" },
    content: `Hosts of the network\n\n${lines.join("\n")}\n`,
    asked: ask(
      there,
      all.slice(18),
      ({ host, address }, i) =>
        i % 2 ? `Which host has the address ${address}?` : `What is the IP address of ${host}?`,
      ({ host, address }, i) => (i % 2 ? host.split(".")[0]! : address),
    ),
  };
}

function people({ makeName, number }: Maker): MadeDocument {
  const first = "Maria Jonas Aisha Tom Elena David Priya Carl Ruth Omar Ida Henrik".split(" ");
  const all = list(36, (i) => ({
    name: `${first[i % first.length]} ${makeName(["berg", "sen", "mann", "ley"])}`,
    extension: `${200 + 3 * i}`,
    room: `${"ABC"[i % 3]}${number(10, 40)}`,
  }));
  const there = all.slice(0, 18);
  const lines = there.map(
    ({ name, extension, room }) => `- ${name}, extension ${extension}, room ${room}`,
  );
  return {
    ...{ name: "people", format: "md" },
    content: `# Staff directory\n\n${lines.join("\n")}\n`,
    asked: ask(
      there,
      all.slice(18),
      ({ name }, i) => (i % 2 ? `room of ${name}` : `What is the extension of ${name}?`),
      ({ extension, room }, i) => (i % 2 ? room : extension),
    ),
  };
}

function lighthouses({ makeName, number }: Maker): MadeDocument {
  const all = list(36, () => ({ place: makeName(), year: `${number(1790, 1930)}` }));
  const there = all.slice(0, 18);
  const sentences = there.map(
    ({ place, year }, i) =>
      `The lighthouse of ${place} was built in ${year} and is ${15 + i} metres high.`,
  );
  return {
    ...{ name: "lighthouses", format: "txt" },
    content: `Lighthouses of the coast\n\n${sentences.join("\n\n")}\n`,
    asked: ask(
      there,
      all.slice(18),
      ({ place }, i) =>
        i % 2 ? `lighthouse ${place} height` : `When was ${place} lighthouse built?`,
      ({ year }, i) => (i % 2 ? `${15 + (i % 18)} metres` : year),
    ),
  };
}

/** The documents that a seed determines. */
export function madeDocuments(seed: number): MadeDocument[] {
  const maker = openMaker(seed);
  return [towns, parts, hosts, people, lighthouses].map((make) => make(maker));
}
