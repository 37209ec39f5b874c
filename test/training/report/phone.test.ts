/** A report on a screen of 390 px. It needs Chromium, and is skipped without it. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { writeReport } from "../../../src/training/report/report.ts";
import { hasChromium, launchChromium, PHONE } from "../../support/browser.ts";
import { temporaryFolder } from "../../support/training.ts";

const long = "/a/very/long/path/without/any/space".repeat(6);
const measures = { mrr: 0.3, "recall@1": 0.2, "recall@5": 0.4, "recall@20": 0.6 };
const hybrid = Object.fromEntries(
  Object.entries(measures).map(([name, x]) => [`hybrid/${name}`, x]),
);
const reply = { answer: long, passages: [{ title: long, text: long, score: 1 }] };

(hasChromium ? test : test.skip)("nothing is wider than a phone", async () => {
  await using folder = temporaryFolder();
  const file = join(folder.path, "report.html");
  await writeReport(file, {
    title: `Adaptation of ${long}`,
    status: "Finished.",
    selection: {
      questions: 183,
      what: "held-out examples",
      rule: "the highest mean reciprocal rank (MRR)",
    },
    options: { corpus: long, seed: 1 },
    records: [
      { step: 0, ...measures, ...hybrid },
      { step: 1, loss: 3, learningRate: 1e-4 },
      { step: 10, ...measures, ...hybrid },
    ],
    baseline: { name: "BM25", measures },
    keptStep: 10,
    verdict: long,
    samples: [{ question: long, gold: [], relevant: ["1"], before: reply, after: reply }],
  });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: PHONE });
    await page.goto(`file://${file}`);
    assert.is(await page.evaluate("document.documentElement.scrollWidth"), PHONE.width);
    assert.ok((await page.locator("figure canvas").count()) > 2, "the curves are drawn");
  } finally {
    await browser.close();
  }
});

test.run();
