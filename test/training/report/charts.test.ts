import { test } from "uvu";
import * as assert from "uvu/assert";
import { distillation } from "../../../src/training/objectives/distillation.ts";
import { termsOf } from "../../../src/training/objectives/objective.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import { chartsOf } from "../../../src/training/report/charts.ts";
import { formatNumber } from "../../../src/training/report/format.ts";

test("metrics are grouped into charts in a fixed order; unknown metrics are omitted", () => {
  const charts = chartsOf(
    [
      { step: 0, "recall@20": 0.9, "recall@5": 0.7, exactMatch: 0.1 },
      { step: 1, seconds: 2, nll: 3, kl: 1, stage: "warm-up" },
      { step: 2, seconds: 4, nll: null, kl: 0.9 },
      { step: 2, "recall@20": 0.92, "recall@5": 0.75, exactMatch: 0.2 },
    ],
    {
      terms: termsOf([reading(), distillation()]),
      baseline: { name: "BM25", measures: { "recall@5": 0.8 } },
    },
  );
  assert.equal(
    charts.map(({ title, unit, curves }) => [
      title,
      unit,
      curves.map(({ name, points }) => [name, points]),
    ]),
    [
      [
        "Retrieval: dev questions",
        "share",
        [
          [
            "R@20",
            [
              [0, 0.9],
              [2, 0.92],
            ],
          ],
          [
            "R@5",
            [
              [0, 0.7],
              [2, 0.75],
            ],
          ],
        ],
      ],
      [
        "Answers: dev questions",
        "share",
        [
          [
            "EM",
            [
              [0, 0.1],
              [2, 0.2],
            ],
          ],
        ],
      ],
      ["Reading loss: nll", "number", [["nll", [[1, 3]]]]],
      [
        "Distillation: KL",
        "number",
        [
          [
            "kl",
            [
              [1, 1],
              [2, 0.9],
            ],
          ],
        ],
      ],
    ],
  );
  assert.equal(
    charts[0]!.curves.map(({ level }) => level),
    [undefined, { name: "BM25", value: 0.8 }],
  );
});

test("a list gives a curve for each head", () => {
  const [chart] = chartsOf([
    { step: 1, headWeights: [0.5, 0.5] },
    { step: 2, headWeights: [0.1, 0.9] },
  ]);
  assert.equal(
    chart!.curves.map(({ name, points }) => ({ name, points })),
    [
      {
        name: "head 0",
        points: [
          [1, 0.5],
          [2, 0.1],
        ],
      },
      {
        name: "head 1",
        points: [
          [1, 0.5],
          [2, 0.9],
        ],
      },
    ],
  );
});

test("a log without values has no charts", () => {
  assert.equal(chartsOf([]), []);
  assert.equal(chartsOf([{ step: 1, nll: null }]), []);
});

test("numbers are formatted for people", () => {
  const formatted = [0, 0.12345, 1.15, 99.96, 123.4, 12_345.6, 2.5e6, 0.00005, 0.000125, -1.5e-7];
  assert.equal(
    formatted.map((value) => formatNumber(value, "number")),
    ["0", "0.1235", "1.15", "99.96", "123.4", "12,350", "2.5e6", "5e-5", "1.25e-4", "-1.5e-7"],
  );
  assert.is(formatNumber(0.70649, "share"), "70.6 %");
});

test.run();
