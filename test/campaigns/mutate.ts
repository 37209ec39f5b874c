/** Random and mutated inputs for the fuzz campaign. All draws come from the given stream. */

import type { Random } from "../../src/math/random.ts";

/** Pieces that formats give a meaning to. */
const TOKENS: readonly string[] = [
  ...'{}[]"\\,:\n\t\r \0()}]K.q\x80\x85\x86R\uFEFF\u2028',
  "null",
  "true",
  "-1",
  "0",
  "1e300",
  "1e999",
  "NaN",
  "9007199254740993",
  "18446744073709551616",
  '"\\ud800"',
  '"__proto__"',
  '"_id"',
  '"id"',
  '"text"',
  '"answers"',
  '"F16"',
  '"data_offsets"',
  "[[[[[[[[",
  "{}{}",
  "<extra_id_0>",
  "\u0301",
  "中",
  "😀",
  "cos\nsystem\n",
  "PK\x05\x06",
  "</",
  "<!--",
  "<table><tr><td>",
  "&#x110000;",
  "<!DOCTYPE a [<!ENTITY b 'c'>]>",
  "```\n",
  "---\n",
  "# ",
  ";",
  "\x1f\x8b",
];

const NUMBERS: readonly number[] = [
  0,
  1,
  0x7f,
  0x80,
  0xff,
  0xffff,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
];
const LARGE_REPEATS = 20_000;

/** Changes an input in one to four places. `others` lend parts. */
export function mutateBytes(random: Random, input: Buffer, others: readonly Buffer[]): Buffer {
  let bytes = input;
  for (let changes = 1 + Math.min(random.integer(4), random.integer(8)); changes > 0; changes--) {
    const at = random.integer(bytes.length + 1);
    const length = random.integer(1 + Math.min(bytes.length - at, 1 << random.integer(12)));
    const replace = (removed: number, ...inserted: readonly Buffer[]): Buffer =>
      Buffer.concat([bytes.subarray(0, at), ...inserted, bytes.subarray(at + removed)]);
    const part = bytes.subarray(at, at + length);
    const other = others[random.integer(others.length)]!;
    const from = random.integer(other.length + 1);
    const mutations: (() => Buffer)[] = [
      () => replace(1, Buffer.from([random.integer(256)])),
      () => replace(1, Buffer.from([(bytes[at] ?? 0) ^ (1 << random.integer(8))])),
      () => replace(length),
      () => replace(0, part),
      () => replace(0, Buffer.from(TOKENS[random.integer(TOKENS.length)]!)),
      () => replace(length, Buffer.from(TOKENS[random.integer(TOKENS.length)]!, "latin1")),
      () => replace(length, other.subarray(from, from + length)),
      () => bytes.subarray(0, at),
      () => replace(4, integerBytes(random)),
    ];
    bytes = mutations[random.integer(mutations.length)]!();
    if (random.integer(2_000) === 0)
      bytes = replace(
        0,
        Buffer.alloc(LARGE_REPEATS * (1 + (part.length % 50)), part.length ? part : "["),
      );
  }
  return bytes;
}

/** Changes one to four bytes and keeps the length. */
export function flipBytes(random: Random, input: Buffer, start = 0, end = input.length): Buffer {
  const bytes = Buffer.from(input);
  for (let changes = 1 + random.integer(4); changes > 0; changes--)
    bytes[start + random.integer(end - start)]! ^= 1 << random.integer(8);
  return bytes;
}

function integerBytes(random: Random): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(NUMBERS[random.integer(NUMBERS.length)]!);
  return bytes;
}

/** Replaces one to three values, keys or elements of a JSON value by others. */
export function mutateJson(random: Random, value: unknown): unknown {
  let changed = value;
  for (let changes = 1 + random.integer(3); changes > 0; changes--)
    changed = mutateValue(random, changed);
  return changed;
}

function mutateValue(random: Random, value: unknown): unknown {
  if (typeof value !== "object" || value === null || random.integer(6) === 0)
    return strangeValue(random);
  const entries: [string, unknown][] = Object.entries(value);
  if (entries.length === 0 || random.integer(5) === 0)
    entries.push([strangeKey(random, entries), strangeValue(random)]);
  else if (random.integer(6) === 0) entries.splice(random.integer(entries.length), 1);
  else {
    const entry = entries[random.integer(entries.length)]!;
    entry[1] = mutateValue(random, entry[1]);
  }
  if (Array.isArray(value)) return entries.map(([, element]) => element);
  return Object.fromEntries(entries);
}

function strangeKey(random: Random, entries: readonly [string, unknown][]): string {
  const keys = ["__proto__", "", "constructor", "id", "_id", "toString", "\ud800", "a".repeat(99)];
  const known = entries.map(([key]) => `${key} `);
  return [...keys, ...known][random.integer(keys.length + known.length)]!;
}

function strangeValue(random: Random): unknown {
  const values: (() => unknown)[] = [
    () => null,
    () => true,
    () => random.uint32() / 2 ** random.integer(40),
    () => NUMBERS[random.integer(NUMBERS.length)]! * (random.integer(2) === 0 ? 1 : -1),
    () => 10 ** random.integer(309),
    () => Number.MIN_VALUE,
    () => "",
    () => TOKENS[random.integer(TOKENS.length)]!.repeat(1 + random.integer(200)),
    () =>
      String.fromCharCode(
        ...Array.from({ length: random.integer(20) }, () => random.integer(65_536)),
      ),
    () => [],
    () => ({}),
    () => [strangeValue(random), strangeValue(random)],
    () => ({ id: strangeValue(random), text: strangeValue(random) }),
    () => Array.from({ length: random.integer(300) }).reduce<unknown>((inner) => [inner], 1),
  ];
  return values[random.integer(values.length)]!();
}
