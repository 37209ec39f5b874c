/** The grammar of conditions: written conditions, round trips, and any text as input. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { parseWhere } from "../../../src/retrieval/where/parse-where.ts";
import { type Where, whereSchema } from "../../../src/retrieval/where/where.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 2_000);

test("reads each comparison", () => {
  const written: [text: string, where: Where][] = [
    ["year = 2020", { year: { eq: 2020 } }],
    ["year!=-2.5e1", { year: { ne: -25 } }],
    ["year > 1 and year >= 2", { and: [{ year: { gt: 1 } }, { year: { gte: 2 } }] }],
    ["year < 1 or year <= 2", { or: [{ year: { lt: 1 } }, { year: { lte: 2 } }] }],
    ["tags contains 'x'", { tags: { contains: "x" } }],
    ['lang in ("en", "de", 3, true)', { lang: { in: ["en", "de", 3, true] } }],
    ["lang exists", { lang: { exists: true } }],
    ["draft = TRUE", { draft: { eq: true } }],
    ['"a field" = "with \\" and \\\\"', { "a field": { eq: 'with " and \\' } }],
    ["größe_2.b-c = 1", { "größe_2.b-c": { eq: 1 } }],
    ["year >= '2020-01-01'", { year: { gte: "2020-01-01" } }],
  ];
  for (const [text, where] of written) assert.equal(parseWhere(text), where, text);
});

test("and binds closer than or, not closest; key words in any case", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ [name]: { eq: 1 } }));
  assert.equal(parseWhere("a = 1 or b = 1 and c = 1"), { or: [a, { and: [b, c] }] });
  assert.equal(parseWhere("(a = 1 OR b = 1) AND c = 1"), { and: [{ or: [a, b] }, c] });
  assert.equal(parseWhere("not a = 1 and b = 1"), { and: [{ not: a }, b] });
  assert.equal(parseWhere("not (a = 1 and b = 1)"), { not: { and: [a, b] } });
});

test("an error names the place, what is expected and what to do", () => {
  const wrong: [text: string, message: RegExp][] = [
    ["", /^condition "", character 1: expected the name of a field, got the end; write a /],
    ["year", /character 5: expected = != > >= < <= contains in exists, got the end/],
    ["year >=", /character 8: expected a value: text in quotes, .*, got the end/],
    ["lang = en", /character 8: .*, got "en"; did you mean "en" in quotes\?$/],
    ["year = 1 year = 2", /character 10: expected "and", "or" or the end, got "year"/],
    ["(year = 1", /character 10: expected "\)", got the end/],
    ["year = 1)", /character 9: expected "and", "or" or the end, got "\)"/],
    ["tags contains 3", /character 15: expected text in quotes, got "3"/],
    ["year > true", /character 8: expected text in quotes or a number after >, got "true"/],
    ["lang in ()", /character 10: expected a value: .*, got "\)"/],
    ["lang in 'en'", /character 9: expected "\(", got/],
    ['lang = "en', /character 8: expected a name, a value or a comparison, got /],
    ["not = 1", /character 1: expected a name other than and, or, not, got "not"/],
    ["a = 1 & b = 2", /character 7: expected a name, a value or a comparison, got "& b = 2"/],
    [`${"(".repeat(500)}a = 1`, /expected fewer conditions inside each other/],
    [`a = "${"x".repeat(200_000)}"`, /expected at most 100000 characters, got 200006/],
  ];
  for (const [text, message] of wrong) assert.throws(() => parseWhere(text), checked(message));
});

const checked = (message: RegExp) => (error: unknown) => {
  assert.instance(error, InputError);
  assert.match((error as Error).message, message);
  assert.not.match((error as Error).message, /\n/);
  return true;
};

const NAME = fc.oneof(
  fc.constantFrom("year", "a b", "tags", "größe", "x-1", "__proto__"),
  fc.string(),
);
const TEXT = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", "'", "\u2028"));
const NUMBER = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const VALUE = fc.oneof(TEXT, NUMBER, fc.boolean());

const comparison = fc
  .tuple(
    NAME.filter((name) => !/^(and|or|not)$/.test(name)),
    fc.oneof(
      fc.record({ eq: VALUE }),
      fc.record({ ne: VALUE }),
      fc.record({ gte: fc.oneof(TEXT, NUMBER) }),
      fc.record({ lt: fc.oneof(TEXT, NUMBER) }),
      fc.record({ contains: TEXT }),
      fc.record({ in: fc.array(VALUE, { minLength: 1, maxLength: 3 }) }),
      fc.constant({ exists: true }),
    ),
  )
  .map(([name, inner]) => ({ [name]: inner }) as Where);

const { where } = fc.letrec<{ where: Where }>((tie) => ({
  where: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    comparison,
    fc.record({ not: tie("where") }),
    fc.record({ and: fc.array(tie("where"), { minLength: 2, maxLength: 3 }) }),
    fc.record({ or: fc.array(tie("where"), { minLength: 2, maxLength: 3 }) }),
  ),
}));

const SYMBOLS: Readonly<Record<string, string>> = { eq: "=", ne: "!=", gte: ">=", lt: "<" };
const quoted = (value: unknown) =>
  typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);

/** Writes a condition with all its parentheses. */
function written(given: Where): string {
  const [name, inner] = Object.entries(given)[0] as [string, never];
  if (name === "not") return `not (${written(inner)})`;
  if (name === "and" || name === "or")
    return (inner as Where[]).map((each) => `(${written(each)})`).join(` ${name} `);
  const [operator, operand] = Object.entries(inner)[0] as [string, unknown];
  if (operator === "exists") return `${quoted(name)} exists`;
  if (operator === "in") return `${quoted(name)} in (${(operand as []).map(quoted).join(", ")})`;
  return `${quoted(name)} ${SYMBOLS[operator] ?? operator} ${quoted(operand)}`;
}

test("a written condition is read as it was", () =>
  fc.assert(
    fc.property(where, (given) => {
      assert.equal(JSON.stringify(parseWhere(written(given))), JSON.stringify(given));
    }),
    { numRuns: RUNS },
  ));

const PARTS = ["year", '"', "'", "(", ")", ",", "=", "!=", ">=", "<", " and ", " or ", " not "];
const soup = fc
  .array(fc.oneof(fc.constantFrom(...PARTS, "in", "exists", "1e9", "-.5", "true"), fc.string()))
  .map((parts) => parts.join(""));

test("any text is a condition that the library accepts, or an error of one line", () =>
  fc.assert(
    fc.property(fc.oneof(soup, fc.string({ unit: "binary" }), where.map(written)), (text) => {
      let parsed: Where;
      try {
        parsed = parseWhere(text);
      } catch (error) {
        checked(/^condition .*: expected .*, got .*; /s)(error);
        return;
      }
      assert.ok(whereSchema.safeParse(parsed).success);
    }),
    { numRuns: RUNS },
  ));

test("a long text is read", () => {
  for (const part of ["1", "a", '"x" ', "(", "not ", "\\", "a = 1 and "])
    assert.throws(
      () => parseWhere(part.repeat(99_000 / part.length)),
      (error: unknown) => error instanceof InputError,
    );
});

test.run();
