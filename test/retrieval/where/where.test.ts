/** Which passages pass a condition, and which conditions are accepted. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { passes, type Where, whereSchema } from "../../../src/retrieval/where/where.ts";

const FIELDS = {
  document: "report",
  metadata: {
    year: 2021,
    date: "2021-05-01",
    lang: "en",
    draft: false,
    tags: ["x", "long name"],
    empty: "",
  },
};

const PASS: Where[] = [
  {},
  { lang: "en" },
  { year: 2021, lang: "en" },
  { year: { gte: 2021, lt: 2022 } },
  { date: { gt: "2021-04-30", lte: "2021-05-01" } },
  { draft: false },
  { document: "report" },
  { tags: "x" },
  { tags: { contains: "long name" } },
  { tags: { in: ["y", "x"] } },
  { lang: { contains: "n" } },
  { lang: { ne: "de" } },
  { other: { ne: "de" } },
  { other: { exists: false } },
  { empty: { exists: true } },
  { not: { other: "x" } },
  { or: [{ lang: "de" }, { year: 2021 }] },
  { and: [] },
  { year: { eq: undefined, gt: 2000 } },
];

const FAIL: Where[] = [
  { lang: "de" },
  { lang: "EN" },
  { year: "2021" },
  { year: 2021, lang: "de" },
  { year: { gt: "2000" } },
  { date: { gt: 2000 } },
  { tags: { gt: "a" } },
  { tags: { contains: "long" } },
  { tags: { ne: "x" } },
  { draft: 0 },
  { other: { lt: 1 } },
  { other: { exists: true } },
  { constructor: { exists: true } },
  { toString: { exists: true } },
  { not: { lang: "en" } },
  { not: {} },
  { or: [] },
  { and: [{ lang: "en" }, { year: 2020 }] },
];

test("passes what it describes", () => {
  for (const where of PASS) assert.ok(passes(where, FIELDS), JSON.stringify(where));
  for (const where of FAIL) assert.not(passes(where, FIELDS), JSON.stringify(where));
  for (const where of PASS) assert.not(passes({ not: where }, FIELDS), JSON.stringify(where));
  for (const where of FAIL) assert.ok(passes({ not: where }, FIELDS), JSON.stringify(where));
});

test("accepts conditions of this form", () => {
  for (const where of [...PASS, ...FAIL])
    assert.ok(whereSchema.safeParse(where).success, JSON.stringify(where));
});

test("a passage without metadata has no field", () => {
  assert.not(passes({ lang: "en" }, {}));
  assert.ok(passes({ not: { lang: "en" }, document: { exists: false } }, {}));
});

test("rejects other forms with what was expected", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.not = cyclic;
  const wrong: [given: unknown, message: RegExp][] = [
    [5, /^an object of conditions/],
    [null, /^an object of conditions/],
    [[], /^an object of conditions/],
    [new Map(), /^an object of conditions/],
    [{ year: null }, /^a value or comparisons for the field "year"/],
    [{ year: [2020] }, /^a value or comparisons for the field "year"/],
    [{ year: Number.NaN }, /^a value or comparisons for the field "year"/],
    [{ year: { greater: 1 } }, /^comparisons among eq, ne, in, .* for the field "year"/],
    [{ year: { gt: true } }, /^text or a number as "year.gt"/],
    [{ year: { in: 3 } }, /^a list of values as "year.in"/],
    [{ tags: { contains: 3 } }, /^text as "tags.contains"/],
    [{ and: { lang: "en" } }, /^a list of conditions as "and"/],
    [{ or: [{ lang: "en" }, 3] }, /^an object of conditions/],
    [cyclic, /^at most 32 conditions inside each other/],
  ];
  for (const [given, message] of wrong)
    assert.match(whereSchema.safeParse(given).error!.issues[0]!.message, message);
});

test.run();
