import { test } from "uvu";
import * as assert from "uvu/assert";
import { canonicalJson } from "../../../src/io/json/canonical-json.ts";

test("the order of keys does not matter, that of lists does", () => {
  const text = '{"a":[{"c":3,"d":null},2],"b":"x"}';
  assert.is(canonicalJson({ b: "x", a: [{ d: null, c: 3 }, 2] }), text);
  assert.is(canonicalJson({ a: [{ c: 3, d: null }, 2], b: "x", e: undefined }), text);
  assert.not.equal(canonicalJson([1, 2]), canonicalJson([2, 1]));
});

test.run();
