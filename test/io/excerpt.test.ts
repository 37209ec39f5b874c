import { test } from "uvu";
import * as assert from "uvu/assert";
import { excerpt } from "../../src/io/excerpt.ts";

test("any value is shown in one short line", () => {
  assert.is(excerpt("a\nb"), "'a\\nb'");
  assert.is(excerpt({ a: [1, { b: "c" }] }), "{ a: [ 1, { b: 'c' } ] }");
  let deep: unknown = 1;
  for (let i = 0; i < 20_000; i++) deep = [deep, { deep }];
  const long = Array.from({ length: 100 }, (_, i) => `item ${i}\n`);
  for (const value of [deep, long, "x".repeat(1_000), new Map([["k", long]])]) {
    assert.not.match(excerpt(value), /\n/);
    assert.ok(excerpt(value).length <= 123);
  }
});

test.run();
