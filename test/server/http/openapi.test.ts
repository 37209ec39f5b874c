/** What the description of the interface accepts, the server accepts, and the other way round. */

import { type Schema, Validator } from "@cfworker/json-schema";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom, type Random } from "../../../src/math/random.ts";
import { PASSAGES, send, startTestServer } from "../support.ts";

const server = await startTestServer({ writable: true });
test.after(() => server.close());

/** Of each route. */
const REQUESTS = 60;

interface Operation {
  readonly requestBody?: { readonly content: { readonly "application/json": { schema: Schema } } };
}

const WORDS = ["", " ", "x", "year", "Who?", "\u2028", "😀", "a\u0000", "and", "not", "\ud800"];
const CONDITIONS = [
  ...["year >= 2020", "year>=2020", 'lang = "en" and not tags contains "x"', "year >=", "not", ""],
  ...["a in (1, 2)", "a in ()", "a exists", "and = 1", "not and = 1", "true = 1", "a = b"],
  ...["a contains 1", "a > true", 'a = "\\"', "(a = 1", "a = 1 or b != -2.5", "NOT = 1"],
];

/** A value that may stand in a request. Half of them are what a field is for. */
function anyValue(random: Random, depth = 0): unknown {
  const kinds = depth > 3 ? 6 : 9;
  switch (random.integer(kinds)) {
    case 0:
      return random.integer(4) - 1;
    case 1:
      return random.next() * 200;
    case 2:
      return WORDS[random.integer(WORDS.length)];
    case 3:
      return random.integer(2) === 1;
    case 4:
      return null;
    case 5:
      return WORDS[random.integer(WORDS.length)]!.repeat(random.integer(12_000));
    case 6:
      return Array.from({ length: random.integer(4) }, () => anyValue(random, depth + 1));
    case 7:
      return condition(random, depth + 1);
    default:
      return anyObject(random, depth + 1);
  }
}

const KEYS = [
  "eq",
  "ne",
  "in",
  "gt",
  "lte",
  "contains",
  "exists",
  "and",
  "or",
  "not",
  "year",
  "id",
];

const anyObject = (random: Random, depth: number): object =>
  Object.fromEntries(
    Array.from({ length: random.integer(3) }, () => [
      KEYS[random.integer(KEYS.length)],
      anyValue(random, depth),
    ]),
  );

/** Often a correct condition. */
function condition(random: Random, depth: number): unknown {
  const inner = () => (depth > 3 ? {} : condition(random, depth + 1));
  const values = [2_020, "en", true, -1.5];
  const value = values[random.integer(values.length)];
  const all = [
    { year: value },
    { year: { [KEYS[random.integer(7)]!]: value } },
    { and: [inner(), inner()] },
    { or: [] },
    { not: inner() },
    anyObject(random, depth + 1),
    CONDITIONS[random.integer(CONDITIONS.length)],
  ];
  return all[random.integer(all.length)];
}

const PASSAGE = { id: "p", title: "t", text: "A text.", metadata: { year: 1, tags: ["x"] } };

/** Values that a field is for. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = {
  question: ["Who?", "x".repeat(10_000), "x".repeat(10_001), "😀".repeat(40)],
  id: ["7", "x".repeat(200), "x".repeat(201), "😀".repeat(200)],
  topK: [1, 2, 100, 101, 200, 201, 1.5, 0],
  readTopK: [1, 2, 100, 101, 1.5, 0],
  granularity: ["passage", "document", "page"],
  hybrid: [true, false],
  reader: ["fusion", "marginal", "none"],
  beams: [1, 16, 17],
  maxAnswerTokens: [1, 5, 200, 201],
  extractive: [true, false],
  minimumConfidence: [0, 0.5, 1, 1.1, -0.1],
  passages: [
    [PASSAGE],
    [PASSAGE, PASSAGE],
    [{ id: "q", text: "" }],
    [],
    ["watt/1"],
    [{ ...PASSAGE, metadata: { a: [1] } }],
    [{ ...PASSAGE, extra: 1 }],
    [{ ...PASSAGE, id: "" }],
    [{ ...PASSAGE, document: "d", metadata: { "": "", and: true } }],
    [{ ...PASSAGE, text: "x".repeat(100_001) }],
  ],
};

function anyRequest(random: Random, names: readonly string[], required: readonly string[]): object {
  const given = names.filter((name) =>
    required.includes(name) ? random.integer(20) > 0 : random.integer(3) === 0,
  );
  const entries = given.map((name) => {
    const usual = name === "where" ? [condition(random, 0)] : (USUAL[name] ?? []);
    const isUsual = usual.length > 0 && random.integer(5) > 0;
    return [name, isUsual ? usual[random.integer(usual.length)] : anyValue(random)];
  });
  if (random.integer(20) === 0) entries.push(["unknown", 1]);
  return Object.fromEntries(entries);
}

test("generated requests are accepted by the description and by the server alike", async () => {
  const { paths } = JSON.parse(await (await fetch(`${server.url}/openapi.json`)).text()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const random = createRandom("openapi");
  const accepted = { yes: 0, no: 0 };
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const schema = requestBody?.content["application/json"].schema;
      if (!schema) continue;
      const validator = new Validator(schema, "2020-12");
      const { properties, required = [] } = schema as {
        properties: object;
        required?: string[];
      };
      for (let i = 0; i < REQUESTS; i++) {
        const body = anyRequest(random, Object.keys(properties), required);
        const response = await send(`${server.url}${path}`, body, { method: method.toUpperCase() });
        const text = await response.text();
        // JSON Schema does not know words and tokens, and not the fields of the passages.
        const isUnknown = /at most (?:512 tokens|200 words)|"where: expected /.test(text);
        if (isUnknown && response.status === 400) continue;
        const isAccepted = response.status !== 400;
        const shown = `${path} ${JSON.stringify(body).slice(0, 500)}: ${text.slice(0, 300)}`;
        assert.ok([200, 400, 404].includes(response.status), `${response.status} ${shown}`);
        assert.is(isAccepted, validator.validate(JSON.parse(JSON.stringify(body))).valid, shown);
        accepted[isAccepted ? "yes" : "no"]++;
      }
    }
  assert.ok(accepted.yes > 30 && accepted.no > 30, JSON.stringify(accepted));
  assert.ok(server.lines.every(({ level }) => level !== "error"));
  assert.ok(PASSAGES.length > 0);
});

test.run();
