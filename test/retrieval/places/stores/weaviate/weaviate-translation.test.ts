/** What of the store in Weaviate can be tested without a server. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import * as weaviate from "weaviate-client";
import type { InputError } from "../../../../../src/io/errors.ts";
import { checkStorable } from "../../../../../src/retrieval/places/stores/storable.ts";
import { parseWeaviateAddress } from "../../../../../src/retrieval/places/stores/weaviate/address.ts";
import { weaviateError } from "../../../../../src/retrieval/places/stores/weaviate/errors.ts";
import {
  objectOf,
  orderedText,
  type StoredObject,
} from "../../../../../src/retrieval/places/stores/weaviate/schema.ts";
import { whereFilter } from "../../../../../src/retrieval/places/stores/weaviate/where.ts";
import { passes } from "../../../../../src/retrieval/where/where.ts";
import type { Passage } from "../../../../../src/text/passage.ts";
import { conditionsOn } from "../conditions.ts";

test("addresses name hosts, ports and replicas", () => {
  const { hosts, isEncrypted, collection, shards, replicas } = parseWeaviateAddress(
    "weaviate://a,10.0.0.2:81,[::1]:80/manuals?grpc=1,2,3&shards=3&replicas=2",
  );
  assert.equal(hosts, [
    { name: "a", port: 8080, grpcPort: 1 },
    { name: "10.0.0.2", port: 81, grpcPort: 2 },
    { name: "[::1]", port: 80, grpcPort: 3 },
  ]);
  assert.equal([isEncrypted, collection, shards, replicas], [false, "manuals", 3, 2]);
  const encrypted = parseWeaviateAddress("weaviates://cluster.example.org/manuals");
  assert.equal(encrypted.hosts, [{ name: "cluster.example.org", port: 443, grpcPort: 443 }]);
  assert.is(encrypted.isEncrypted, true);
  for (const [bad, message] of [
    ["weaviate://a/b/c", /got another form/],
    ["weaviate:///manuals", /got another form/],
    ["weaviate://key:secret@a/manuals", /got a user/],
    ["weaviate://a/Manuals", /collection of lower-case letters/],
    ["weaviate://a/manuals?replicas=0", /got \?replicas=0/],
    ["weaviate://a/manuals?replica=2", /got \?replica=2/],
    ["weaviate://a,b,c/manuals?grpc=1,2", /2 ports of gRPC for 3 hosts/],
    ["weaviate://a:b:c/manuals", /the host "a:b:c"/],
  ] as const)
    assert.throws(
      () => parseWeaviateAddress(bad),
      ({ message: said }: Error) => message.test(said) && !said.includes("secret"),
    );
});

test("errors of the client are one line with a code", () => {
  const coded = (name: string, message: string, cause?: unknown): string => {
    const error = Object.assign(new Error(message, { cause }), { name });
    return (weaviateError(error, "weaviate://a/b") as InputError).code;
  };
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  assert.is(coded("TypeError", "fetch failed", refused), "ERR_REATT_STORE_AWAY");
  assert.is(
    coded("TimeoutError", "The operation was aborted due to timeout"),
    "ERR_REATT_STORE_AWAY",
  );
  assert.is(
    coded("WeaviateQueryError", "Query call with protocol gRPC failed with message: UNAVAILABLE"),
    "ERR_REATT_STORE_AWAY",
  );
  assert.is(
    coded("WeaviateBatchError", "cannot achieve consistency level QUORUM"),
    "ERR_REATT_STORE_AWAY",
  );
  assert.is(
    coded("WeaviateQueryError", "Channel has been shut down"), // by a call that lost the node
    "ERR_REATT_STORE_AWAY",
  );
  assert.is(coded("WeaviateStartUpError", "Unauthenticated: x"), "ERR_REATT_NO_PERMISSION");
  assert.is(coded("WeaviateBatchError", "shard is read-only"), "ERR_REATT_DISK_FULL");
  assert.is(coded("WeaviateQueryError", "could not find class X"), "ERR_REATT_DAMAGED_INDEX");
  const other = new TypeError("x is not a function");
  assert.is(weaviateError(other, "weaviate://a/b"), other);
});

test("a passage with a character 0 or half a pair anywhere is refused", () => {
  const passage = {
    id: "a",
    title: "",
    text: "größe 👩‍👩‍👧",
    metadata: { a: ["b", 1, true] as string[] },
  };
  checkStorable(passage, "here");
  for (const odd of ["\0", "\ud83d"])
    for (const change of [
      { id: odd },
      { title: odd },
      { text: odd },
      { document: odd },
      { metadata: { [odd]: "x" } },
      { metadata: { a: ["x", odd] } },
    ])
      assert.throws(
        () => checkStorable({ ...passage, ...change }, "here"),
        /others in the passage/,
      );
});

test("texts are ordered by their UTF-16 code units", () => {
  const text = fc.string({ unit: "binary", maxLength: 4 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.is(orderedText(a) < orderedText(b), a < b);
    }),
  );
});

/** What Weaviate does with a filter. */
function takes(filter: weaviate.FilterValue, object: StoredObject): boolean {
  const { operator, filters = [], target, value } = filter;
  switch (operator) {
    case "And":
      return filters.every((each) => takes(each, object));
    case "Or":
      return filters.some((each) => takes(each, object));
    case "Not":
      return !takes(filters[0]!, object);
  }
  const stored = object[target!.property!];
  if (stored === undefined) return false;
  if (operator === "Equal") return [stored].flat().includes(value);
  const [one, other] = [stored as string, value as string];
  if (operator === "GreaterThan") return one > other;
  if (operator === "GreaterThanEqual") return one >= other;
  if (operator === "LessThan") return one < other;
  if (operator === "LessThanEqual") return one <= other;
  throw new Error(operator);
}

const DATES = ["2024-05-31", "2024-05", "2024-05-31T10:00:00+02:00", "2024-06-01T00:30:00+02:00"];

test("filters take every passage that passes, also inside of not", () => {
  const long = "x".repeat(64);
  const value = fc.constantFrom<string | number | boolean>(
    ...["", "a", " a", "a ", "größe", "a\u0001", `${long}1`, `${long}2`, "7", 7, -1.5, 0, true],
    ...DATES,
    "größe".normalize("NFD"),
  );
  const ordered = fc.constantFrom<string | number>(
    ...["", "a", "b", `${long}1`, `${long}3`, 7, 0, ...DATES],
  );
  const metadata = fc.dictionary(
    fc.constantFrom("a", "b c", "document"),
    fc.oneof(value, fc.array(value, { maxLength: 3 })),
  ) as fc.Arbitrary<NonNullable<Passage["metadata"]>>;
  const where = conditionsOn(["a", "b c", "document", "none"], {
    value,
    ordered,
    part: fc.constantFrom("", "a", "rö"),
  });
  const document = fc.option(fc.constantFrom("a", "b"), { nil: undefined });
  let [passed, taken] = [0, 0];
  fc.assert(
    fc.property(
      where,
      fc.array(fc.record({ metadata, document }), { minLength: 1 }),
      (where, all) => {
        const rows = all.map(({ metadata, document }, i) => {
          const passage = {
            id: `${i}`,
            title: "",
            text: "",
            metadata,
            ...(document && { document }),
          };
          return { passage, object: objectOf(rowOf(passage)) };
        });
        const known = new Set(rows.flatMap(({ object }) => Object.keys(object)));
        const filter = whereFilter({ weaviate, known }, where);
        for (const { passage, object } of rows) {
          const isTaken = typeof filter === "boolean" ? filter : takes(filter, object);
          const isPassing = passes(where, passage);
          assert.ok(isTaken || !isPassing, JSON.stringify({ where, passage, filter }));
          passed += Number(isPassing);
          taken += Number(isTaken);
        }
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(taken < 1.3 * passed, `${taken} taken for ${passed}`);
});

const rowOf = (passage: Passage) => ({
  passage,
  digest: "",
  codes: new Uint8Array(),
  checksum: 0,
  tokens: 0,
  cutTokens: 0,
  vector: new Float32Array(),
  terms: [],
});

test.run();
