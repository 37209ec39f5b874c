import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type ReportData, writeReport } from "../../../src/training/report/report.ts";
import { SCRIPT } from "../../../src/training/report/script.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "report.html");
const empty: ReportData = {
  title: "Run",
  status: "Begun.",
  options: {},
  records: [],
  samples: [],
  notes: [],
};

async function written(report: Partial<ReportData>): Promise<string> {
  await writeReport(file, { ...empty, ...report });
  const page = readFileSync(file, "utf8");
  checkNesting(page);
  return page;
}

/** Every element that is opened is closed in turn. */
function checkNesting(page: string): void {
  const open: string[] = [];
  const markup = page.replace(/<(style|script)>.*?<\/\1>/gs, "");
  for (const [, close, name, end] of markup.matchAll(/<(\/?)([a-z]\w*)\b[^<>]*?(\/?)>/g)) {
    if (close) assert.is(open.pop(), name);
    else if (!end && !["meta", "br"].includes(name!)) open.push(name!);
  }
  assert.equal(open, []);
}

/** What a reader sees. */
const text = (page: string): string =>
  page
    .replace(/<(style|script)>.*?<\/\1>/gs, "")
    .replace(/<br>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ");

const records = [
  { step: 0, exactMatch: 0.125, f1: 0.2, "recall@1": 0.5 },
  ...Array.from({ length: 20 }, (_, i) => ({
    step: i + 1,
    nll: 4 - i / 10,
    headWeights: [0, 0, 0, 0, 0, 0.25, 0.75],
  })),
  { step: 10, exactMatch: 0.5, f1: 0.6, "recall@1": 0.75 },
  { step: 20, exactMatch: 0.375, f1: 0.7, "recall@1": 0.625 },
];

test("the outcome, the run, the evaluations and what they are compared with", async () => {
  const page = await written({
    options: { seed: 7, model: "mini" },
    records,
    baseline: { name: "BM25", measures: { "recall@1": 0.7 } },
    best: { step: 10, path: "out/best" },
    notes: ["a note"],
  });
  const seen = text(page);
  for (const words of [
    "EM 50.0 % 12.5 % before, +37.5",
    "R@1 75.0 % 50.0 % before, +25.0 BM25 70.0 %",
    "Best checkpoint: out/best",
    "a note",
    "seed7",
    "stepEMF1R@1",
    "BM25––70.0 %",
    "10 (best)50.0 %60.0 %75.0 %",
    "nll 2.1",
    "head 6 75.0 %",
    "2 more",
  ])
    assert.ok(seen.includes(words), `${words} in ${seen}`);
  assert.match(page, /<td><b>70\.0 %<\/b><\/td>/); // the best F1 is that of the last evaluation
});

test("a run that has not measured anything yet", async () => {
  const seen = text(await written({}));
  assert.match(seen, /Run Begun\. Not yet evaluated\. The run/);
  assert.not.match(seen, /Sample questions/);
  assert.match(text(await written({ records: records.slice(0, 1) })), /EM 12\.5 % before training/);
});

const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;">`;

test("whatever the texts hold, the page is whole and fetches nothing", async () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      "</script><script>alert(1)</script>",
      "</style>",
      '"><img src=x onerror=alert(1)>',
      "'&amp;<!--",
      "$&$1`$x`",
      "\u0000\ud800",
    ),
    fc.string({ unit: "binary" }),
  );
  const reply = fc.record({
    answer: hostile,
    passages: fc.array(fc.record({ title: hostile, text: hostile, score: fc.double() }), {
      maxLength: 3,
    }),
  });
  const plain = (await written({ options: { a: "" }, samples: [], notes: [""] })).match(
    /<[^>]*>/g,
  )!.length;
  await fc.assert(
    fc.asyncProperty(hostile, reply, async (words, before) => {
      await written({ samples: [{ question: words, gold: [words], before }] });
      const page = await written({
        title: words,
        status: words,
        options: { [words || "a"]: words },
        notes: [words],
      });
      const tags = page.match(/<[^>]*>/g)!;
      assert.is(tags.length, plain);
      assert.ok(tags.includes(POLICY));
      assert.not.ok(tags.some((tag) => /src=|href=|url\(/.test(tag)));
    }),
    { numRuns: 60 },
  );
});

test("is replaced as a whole, and stays where it cannot be", async () => {
  await written({ title: "first" });
  await written({ title: "second" });
  assert.match(readFileSync(file, "utf8"), /<h1>second<\/h1>/);
  assert.equal(readdirSync(dirname(file)), ["report.html"]);
  await refused(
    writeReport(join(file, "inside"), empty),
    /inside: expected to be able to write, got ENOTDIR/,
  );
});

test("under the pointer the legend has the values there", async () => {
  const page = await written({ records });
  const points = page
    .match(/data-points="([^"]*)"/g)!
    .map((attribute) => attribute.slice(13, -1).replaceAll("&quot;", '"'));
  const nll = points.findIndex((json) => JSON.parse(json)[0].length === 20);
  const [value, at] = [{ textContent: "2.1" }, { textContent: "" }];
  const cursor = {
    style: { visibility: "" },
    x1: 0,
    setAttribute: (name: "x1", x: number) => (cursor[name] = x),
  };
  const listeners: Record<string, (event: { clientX: number }) => void> = {};
  const svg = {
    addEventListener: (name: string, listener: (event: { clientX: number }) => void) =>
      (listeners[name] = listener),
    getBoundingClientRect: () => ({ left: 100, width: 260 }), // half of the view box
  };
  const parts: Record<string, unknown> = { svg, ".cursor": cursor, ".at": at };
  const figure = {
    dataset: { points: points[nll] },
    querySelector: (name: string) => parts[name],
    querySelectorAll: () => [value],
  };
  new Function("document", SCRIPT)({ querySelectorAll: () => [figure] });
  listeners.pointermove!({ clientX: 100 + (52 + 24 * 4) / 2 }); // the points are 24 apart, the first at 52
  assert.equal([value.textContent, at.textContent, cursor.x1], ["3.6", "step 5", 148]);
  assert.is(cursor.style.visibility, "visible");
  listeners.pointerleave!({ clientX: 0 });
  assert.equal([value.textContent, at.textContent, cursor.style.visibility], ["2.1", "", "hidden"]);
});

test.run();
