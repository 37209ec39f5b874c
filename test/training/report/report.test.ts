import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { distillation } from "../../../src/training/objectives/distillation.ts";
import { termsOf } from "../../../src/training/objectives/objective.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import { CHART_SCRIPT } from "../../../src/training/report/page.ts";
import { type ReportData, writeReport } from "../../../src/training/report/report.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "report.html");
const empty: ReportData = {
  title: "Run",
  status: "Begun.",
  options: {},
  records: [],
  samples: [],
};

const terms = termsOf([reading(), distillation()]);

async function written(report: Partial<ReportData>): Promise<string> {
  await writeReport(file, { ...empty, terms, ...report });
  const page = readFileSync(file, "utf8");
  checkNesting(page);
  return page;
}

const withoutScripts = (page: string): string =>
  page.replace(/<(style|script)>.*?<\/\1>/gs, "<$1></$1>");

/** Checks that elements are nested correctly. */
function checkNesting(page: string): void {
  const open: string[] = [];
  const markup = withoutScripts(page);
  for (const [, close, name, end] of markup.matchAll(/<(\/?)([a-z]\w*)\b[^<>]*?(\/?)>/g)) {
    if (close) assert.is(open.pop(), name);
    else if (!end && !["meta", "br"].includes(name!)) open.push(name!);
  }
  assert.equal(open, []);
}

/** The visible text. */
const text = (page: string): string =>
  withoutScripts(page)
    .replace(/<br>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ");

test("the report says what is relevant to the examples, and what was left out", async () => {
  const crops = { name: "crops", relevant: "the passage of the sentence" };
  const sources = [{ ...crops, all: 1_200, training: 1_050, heldOut: 110 }];
  const page = await written({ examples: { sources, heldOut: 110, measured: 104 } });
  assert.match(page, "the passage of the sentence</td>");
  assert.match(page, "<td>1,200</td><td>1,050</td><td>110</td><td>40</td>");
  assert.match(text(page), "6 of 110 examples to measure with are not measured");
  const all = await written({ examples: { sources, heldOut: 110, measured: 110 } });
  assert.not.match(text(all), "not measured");
  assert.not.match(text(await written({})), "Left out");
});

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

test("a report shows the outcome, the run, the evaluations and the baseline", async () => {
  const page = await written({
    options: { seed: 7, model: "mini" },
    records,
    baseline: { name: "BM25", measures: { "recall@1": 0.7 } },
    keptStep: 10,
    verdict: "R@1 25 → 41",
  });
  const seen = text(page);
  for (const words of [
    "EM 50.0 % 12.5 % before, +37.5",
    "R@1 75.0 % 50.0 % before, +25.0 BM25 70.0 %",
    "Run R@1 25 → 41 Begun.",
    "seed7",
    "stepEMF1R@1",
    "BM25––70.0 %",
    "10 (kept)50.0 %60.0 %75.0 %",
    "nll 2.1",
    "head 6 75.0 %",
    "2 more",
  ])
    assert.ok(seen.includes(words), `${words} in ${seen}`);
  assert.match(page, /<td><b>70\.0 %<\/b><\/td>/); // the best F1 is that of the last evaluation
});

test("a report of a run without measurements", async () => {
  const seen = text(await written({}));
  assert.match(seen, /Run Begun\. Not yet evaluated\. The run/);
  assert.not.match(seen, /ReportSample questions/);
  assert.match(text(await written({ records: records.slice(0, 1) })), /EM 12\.5 % before training/);
});

const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;">`;

test("with any texts, the page is well-formed and fetches nothing", async () => {
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
  const tagsOf = (page: string): string[] => withoutScripts(page).match(/<[^>]*>/g)!;
  const plain = tagsOf(await written({ options: { a: "" }, samples: [] })).length;
  await fc.assert(
    fc.asyncProperty(hostile, reply, async (words, before) => {
      await written({ samples: [{ question: words, gold: [words], before }] });
      const page = await written({
        title: words,
        status: words,
        options: { [words || "a"]: words },
      });
      const tags = tagsOf(page);
      assert.is(tags.length, plain);
      assert.ok(tags.includes(POLICY));
      assert.not.ok(tags.some((tag) => /src=|href=|url\(/.test(tag)));
    }),
    { numRuns: 60 },
  );
});

test("a report is replaced atomically, and stays if it cannot be replaced", async () => {
  await written({ title: "first" });
  await written({ title: "second" });
  assert.match(readFileSync(file, "utf8"), /<h1>second<\/h1>/);
  assert.equal(readdirSync(dirname(file)), ["report.html"]);
  await refused(
    writeReport(join(file, "inside"), empty),
    /inside: expected to be able to write, got ENOTDIR/,
  );
});

/** What the page's script needs of a browser and of uPlot, for one figure of a page. */
function drawn(page: string, title: string) {
  const figures = [...page.matchAll(/<figure data-chart="([^"]*)">.*?<h3>(.*?)<.*?<\/figure>/gs)];
  const [markup, chart] = figures.find((match) => match[2] === title)!;
  const legend = [...markup!.matchAll(/<b>(.*?)<\/b>/g)].map((match) => ({
    textContent: match[1],
  }));
  const at = { textContent: "" };
  const parts: Record<string, unknown> = { ".plot": { clientWidth: 300 }, ".at": at };
  const figure = {
    dataset: { chart: chart!.replaceAll("&quot;", '"') },
    querySelector: (name: string) => parts[name],
    querySelectorAll: () => legend,
  };
  // biome-ignore lint/suspicious/noExplicitAny: the options and data of uPlot
  let plot: any;
  class Plot {
    static rangeNum = (low: number, high: number) => [low, high];
    constructor(options: unknown, data: unknown) {
      plot = { options, data };
    }
  }
  const document = { querySelectorAll: () => [figure], documentElement: {} };
  const style = { getPropertyValue: (name: string) => ` colour of ${name}` };
  const browser = {
    document,
    uPlot: Plot,
    getComputedStyle: () => style,
    matchMedia: () => ({ addEventListener: () => {} }),
    ResizeObserver: class {
      observe() {}
    },
  };
  new Function(...Object.keys(browser), CHART_SCRIPT)(...Object.values(browser));
  return { ...plot, legend: () => legend.map(({ textContent }) => textContent), at };
}

test("hybrid search is shown beside the model and BM25", async () => {
  const both = [
    { step: 0, "recall@1": 0.5, "hybrid/recall@1": 0.625, "hybrid/lambda": 2 },
    { step: 10, "recall@1": 0.75, "hybrid/recall@1": 0.875, "hybrid/lambda": 3 },
  ];
  const baseline = { name: "BM25", measures: { "recall@1": 0.7 } };
  const page = await written({ records: both, baseline });
  const seen = text(page);
  for (const words of [
    "hybrid R@1 87.5 % 62.5 % before, +25.0 BM25 70.0 %",
    "stepR@1hybrid R@1",
    "BM2570.0 %–",
    "1075.0 %87.5 %",
  ])
    assert.match(seen, words);
  const { data } = drawn(page, "Hybrid search: dev questions");
  assert.equal(
    [data[1], data.at(-1)],
    [
      [0.625, 0.875],
      [0.7, 0.7],
    ],
  );
});

test("curves, ranges and levels are drawn over their steps", async () => {
  const baseline = { name: "BM25", measures: { "recall@1": 0.7 } };
  const { options, data } = drawn(await written({ records, baseline }), "Retrieval: dev questions");
  assert.equal(data, [
    [0, 10, 20],
    [0.5, 0.75, 0.625],
    [0.5, 0.75, 0.625],
    [0.5, 0.75, 0.625],
    [0.7, 0.7, 0.7],
  ]);
  assert.is(options.series.length, data.length);
  assert.equal(options.bands[0].series, [1, 2]);
  assert.is(options.series[3].stroke(), "colour of --c0");
  assert.equal(options.series[4].dash, [5, 4]);
  assert.equal(options.axes[1].values(null, [0, 0.07, 0.125, 1]), [
    "0 %",
    "7 %",
    "12.5 %",
    "100 %",
  ]);
  assert.equal(options.scales.y.range(null, 0.2, 0.9), [0, 0.9]);
  assert.equal(options.scales.y.range(null, 0.6, 0.9), [0.6, 0.9]);
});

test("ticks have the digits that they need", async () => {
  const { options } = drawn(await written({ records }), "Reading loss: nll");
  const ticks = [0, 3.0015, 0.1 + 0.2, 2_000, 2e-4, 3e7];
  assert.equal(options.axes[1].values(null, ticks), ["0", "3.0015", "0.3", "2,000", "2e-4", "3e7"]);
});

test("at the pointer the legend has the values there", async () => {
  const { options, legend, at } = drawn(await written({ records }), "Reading loss: nll");
  const moveTo = (idx: number | null) => options.hooks.setCursor[0]({ cursor: { idx } });
  assert.equal(legend(), ["2.1"]);
  moveTo(4);
  assert.equal([legend(), at.textContent], [["3.6"], "step 5"]);
  moveTo(null);
  assert.equal([legend(), at.textContent], [["2.1"], ""]);
});

test("the page has the plotting library with its licence", async () => {
  const page = await written({ records });
  assert.match(page, /<script>\/\*\nThe MIT License/);
  assert.match(page, /var uPlot=/);
});

test.run();
