import { test } from "uvu";
import * as assert from "uvu/assert";
import { metricsTable } from "../../../src/training/report/metrics-table.ts";

test("a row for each record, and a column for each name that one of them has", () => {
  const table = metricsTable([
    { step: 0, "recall@1": 0.25 },
    { step: 1, nll: 2.5, kl: null, headWeights: [0.5, 0.25] },
    { step: 2, note: 'it "fell", twice' },
  ]);
  assert.is(
    table,
    "step,recall@1,nll,kl,headWeights,note\r\n" +
      "0,0.25,,,,\r\n1,,2.5,,0.5 0.25,\r\n" +
      '2,,,,,"it ""fell"", twice"\r\n',
  );
});

test("a run without a record has an empty table", () => {
  assert.is(metricsTable([]), "\r\n");
});

test.run();
