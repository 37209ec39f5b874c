import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../src/math/random.ts";

test("a named stream keeps its draws: runs of different versions can be compared", () => {
  const random = createRandom(7, "stream", 1);
  assert.equal(
    [random.uint32(), random.integer(1000), random.next()],
    [3369044746, 418, 0.49232274592529734],
  );
  assert.equal(random.shuffle([1, 2, 3, 4, 5]), [5, 2, 1, 4, 3]);
});

test("equal names give equal streams, other names other streams", () => {
  const draw = (...name: Parameters<typeof createRandom>) => createRandom(...name).uint32();
  assert.is(draw(7, "a", 1), draw(7, "a", 1));
  const names = [
    draw(7),
    draw(8),
    draw("7"),
    draw(7, "a"),
    draw(7, "b"),
    draw(7, "a", "b"),
    draw(7, "ab"),
  ];
  assert.is(new Set(names).size, names.length);
});

test("integers are uniform: chi-square over 7 classes and 70,000 draws", () => {
  const random = createRandom("chi");
  const counts = new Array<number>(7).fill(0);
  for (let i = 0; i < 70_000; i++) counts[random.integer(7)]!++;
  const chiSquare = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  assert.ok(chiSquare < 22.5, `${chiSquare}`); // 6 degrees of freedom, p = 0.001
});

test("next stays in [0, 1), with mean 1/2 and variance 1/12", () => {
  const random = createRandom("mean");
  const draws = Array.from({ length: 100_000 }, () => random.next());
  const mean = draws.reduce((a, b) => a + b) / draws.length;
  const variance = draws.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws.length;
  assert.ok(draws.every((x) => x >= 0 && x < 1));
  assert.ok(Math.abs(mean - 1 / 2) < 0.004 && Math.abs(variance - 1 / 12) < 0.002);
});

test("a shuffle keeps every item, leaves its argument alone and makes all orders equally often", () => {
  const random = createRandom("shuffle");
  const items = ["a", "b", "c"];
  const counts = new Map<string, number>();
  for (let i = 0; i < 6_000; i++) {
    const order = random.shuffle(items).join("");
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(items, ["a", "b", "c"]);
  assert.is(counts.size, 6);
  assert.ok([...counts.values()].every((count) => Math.abs(count - 1000) < 120));
});

test("an impossible range is rejected", () => {
  const random = createRandom(1);
  for (const n of [0, -1, 1.5, 2 ** 33, Number.NaN])
    assert.throws(() => random.integer(n), RangeError);
});

test.run();
