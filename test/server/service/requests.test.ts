/** Every option of the library's table is decided, by name, for HTTP and for assistants. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import { READ_OPTIONS } from "../../../src/decoder/answers.ts";
import { infoOf } from "../../../src/options/option.ts";
import { resolveOptions } from "../../../src/options/resolve.ts";
import { ANSWER } from "../../../src/reatt/options.ts";
import { RETRIEVE_OPTIONS } from "../../../src/retrieval/rank.ts";
import {
  ANSWER_REQUEST,
  inputOf,
  READ_REQUEST,
  RETRIEVE_REQUEST,
  RULES,
} from "../../../src/server/service/requests.ts";

const OF_LIBRARY = { ...RETRIEVE_OPTIONS, ...ANSWER, ...READ_OPTIONS };

test("HTTP and the tools take or hide each option of the library", () => {
  for (const name of Object.keys(OF_LIBRARY))
    assert.ok(
      name in RULES,
      `${name} is new: RULES in src/server/service/requests.ts says what a client may give ` +
        '("free", "hidden" or a schema with the limit of the server), and which tools take it',
    );
  for (const name of Object.keys(RULES))
    assert.ok(name in OF_LIBRARY, `${name} of RULES is no option of the library any more`);
});

test("a request has the options of the library that are not hidden, and no others", () => {
  const rules: Readonly<Record<string, readonly unknown[]>> = RULES;
  for (const [request, table, own] of [
    [RETRIEVE_REQUEST, RETRIEVE_OPTIONS, ["question", "id"]],
    [ANSWER_REQUEST, ANSWER, ["question", "id"]],
    [READ_REQUEST, READ_OPTIONS, ["question", "id", "passages"]],
  ] as const) {
    const shown = Object.keys(table).filter((name) => rules[name]?.[0] !== "hidden");
    assert.equal(Object.keys(request), [...own, ...shown]);
  }
});

test("a tool takes what an assistant can judge", () => {
  const search = ["question", "topK", "minScore", "granularity", "where"];
  assert.equal(Object.keys(inputOf(RETRIEVE_REQUEST, "search")), search);
  const answer = ["question", "where", "minimumConfidence"];
  assert.equal(Object.keys(inputOf(ANSWER_REQUEST, "answer")), answer);
});

test("a request has the defaults of the library, and its help as the description", () => {
  assert.equal(resolveOptions(RETRIEVE_REQUEST, { question: "Who?" }), {
    ...{ question: "Who?", id: "1", topK: 100 },
    ...{ granularity: "passage", explain: false, distinct: false },
  });
  const { help } = infoOf(RETRIEVE_OPTIONS.granularity);
  assert.is(RETRIEVE_REQUEST.granularity.description, `${help}.`);
  assert.match(
    ANSWER_REQUEST.readTopK.description!,
    /^Passages to read: .*\. Default: as many as /,
  );
});

test("limits of the server are narrower than those of the library", () => {
  for (const [name, most] of [
    ["topK", 200],
    ["readTopK", 100],
    ["maxAnswerTokens", 200],
  ] as const) {
    const given = (value: number) => ({ question: "Who?", [name]: value });
    resolveOptions(ANSWER_REQUEST, given(most));
    resolveOptions(ANSWER, { [name]: most + 1 });
    assert.throws(
      () => resolveOptions(ANSWER_REQUEST, given(most + 1)),
      new RegExp(`${name}: expected a whole number from 1 to ${most}, got ${most + 1}`),
    );
  }
  assert.instance(RULES.where[0], z.ZodType);
});

test.run();
