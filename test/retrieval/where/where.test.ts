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
  { tags: { gt: "a" } },
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
  { tags: { gt: "xyz" } },
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

test("a day is a span of time, and a time has its zone", () => {
  const mail = { metadata: { date: "2024-05-31T10:00:00+02:00" } };
  const order = (operand: string) =>
    (["lt", "eq", "gt"] as const).filter((name) => passes({ date: { [name]: operand } }, mail));
  for (const [operand, expected] of [
    ["2024-05-31", "eq"],
    ["2024-05", "eq"],
    ["2024-05-30", "gt"],
    ["2024-06-01", "lt"],
    ["2024-06", "lt"],
    ["2024-05-31T08:00:00Z", "eq"],
    ["2024-05-31T08:00Z", "eq"],
    ["2024-05-31T09:00:00.000+01:00", "eq"],
    ["2024-05-31T10:00:00Z", "lt"],
    ["2024-05-31T08:00:00.5Z", "lt"],
    ["2024-05-31 07:59:59", "gt"],
  ] as const)
    assert.equal(order(operand), [expected], operand);
  for (const operator of ["lte", "gte"])
    assert.ok(passes({ date: { [operator]: "2024-05-31" } }, mail), operator);
  assert.ok(passes({ date: { in: ["2023-01-01", "2024-05-31"] } }, mail));
  assert.not(passes({ date: { ne: "2024-05-31" } }, mail));
  assert.ok(passes({ date: { gt: "2024" } }, mail), "as text");
  assert.not(passes({ date: { lt: "2024-05-31" } }, { metadata: { date: "a text" } }));
});

test("a list passes if one of its values does", () => {
  const fields = { metadata: { nums: [1, 7], dates: ["2020-01-01", "2024-01-01"], none: [] } };
  assert.ok(passes({ nums: { gt: 5 } }, fields));
  assert.ok(passes({ nums: { lt: 5, gt: 5 } }, fields));
  assert.not(passes({ nums: { gt: 7 } }, fields));
  assert.ok(passes({ dates: { gte: "2023-12-31" } }, fields));
  assert.ok(passes({ dates: "2020-01" }, fields));
  assert.not(passes({ none: { gt: 0 } }, fields));
});

test("texts are equal in NFC", () => {
  const [composed, decomposed] = ["Zürich", "Zürich".normalize("NFD")];
  for (const [one, other] of [
    [composed, decomposed],
    [decomposed, composed],
  ] as const) {
    const fields = { document: one, metadata: { city: one, cities: [one] } };
    assert.ok(passes({ city: other }, fields));
    assert.ok(passes({ document: other }, fields));
    assert.ok(passes({ city: { contains: other.slice(1) } }, fields));
    assert.ok(passes({ cities: { contains: other } }, fields));
    assert.ok(passes({ city: { gte: other, lte: other } }, fields));
    assert.not(passes({ city: { ne: other } }, fields));
  }
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
