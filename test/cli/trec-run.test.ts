import { test } from "uvu";
import * as assert from "uvu/assert";
import { trecRunLines } from "../../src/cli/trec-run.ts";
import { InputError } from "../../src/errors.ts";

test("six fields a line, ranks from 1", () => {
  const hits = [
    { id: "d2", score: 2.5 },
    { id: "d1", score: -0.125 },
  ];
  assert.is(trecRunLines("q1", hits), "q1 Q0 d2 1 2.5 reatt\nq1 Q0 d1 2 -0.125 reatt\n");
  assert.is(trecRunLines("q1", []), "");
});

test("an id that would be two fields is refused", () => {
  const refused = (error: unknown) => error instanceof InputError;
  assert.throws(() => trecRunLines("q 1", [{ id: "d", score: 1 }]), refused);
  assert.throws(() => trecRunLines("q", [{ id: "d\t1", score: 1 }]), refused);
});

test.run();
