/** The page in Chromium. */

import { readFileSync } from "node:fs";
import { createServer, type Server, request as send } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { resolveOptions } from "../../../src/options/resolve.ts";
import { SERVER_OPTIONS } from "../../../src/server/options.ts";
import { serve } from "../../../src/server/serve.ts";
import {
  hasChromium,
  launchChromium,
  PHONE,
  withPage as withPageOf,
} from "../../support/browser.ts";
import { HOSTILE, PASSAGES, REPORT, startTestServer, type TestServer } from "../support.ts";

const testPage = hasChromium ? test : test.skip;

/** Texts without a place to wrap at, a table, and lines that must stay lines. */
const WIDE = {
  id: `wide/${"x".repeat(150)}`,
  title: `Donaudampfschifffahrt${"sgesellschaft".repeat(20)}`,
  text: [
    "| Quantity of the wide passage | Value |",
    "|---|---|",
    `| Mass in grams, to all digits | ${"9".repeat(200)} |`,
    `https://example.org/${"very/".repeat(40)}long`,
  ].join("\n"),
  metadata: { kind: "wide", source: `archive/${"folder-".repeat(30)}/table.csv` },
};

/** U+2028 and U+2029 are line breaks in JavaScript, but not in streams of events. */
const BROKEN = {
  id: "broken",
  title: "Breaks\u2028of\u2029lines",
  text: "The broken\u2028passage has\u2029breaks\u0085of\rall\nkinds.\r\n\ndata: x\n\nevent: y",
  metadata: { kind: "broken" },
};

/** A document of several passages: a table, code, and a long text with the answer at its end. */
const MANUAL = [
  {
    title: "Manual > Prices",
    text: "What the parts of the gearbox cost:\n\nPart | Price\nShaft | 17 euros\nBearing | 9 euros",
    place: { _lines: "1-6" },
  },
  {
    title: "Manual > Reset",
    text: "Reset the gearbox so:\n\nsystemctl stop gearbox.service\n\nif (gear > 0) {\n  gear = 0;\n}\n\nThen start it.",
    place: { _lines: "8-20" },
  },
  {
    title: "Manual > History",
    text: `${"The gearbox was changed again and again over the years. ".repeat(30)}Ada Byron designed the first gearbox in 1832.`,
    place: { _lines: "22-40" },
  },
].map(({ place, ...passage }, i) => ({
  ...passage,
  id: `manual.md#${i + 1}`,
  document: "manual.md",
  metadata: { _source: "manual.md", ...place, kind: "manual" },
}));

const QUESTION = "Who patented a steam engine in 1781?";
let server: TestServer;
let browser: Browser;

test.before(async () => {
  if (!hasChromium) return;
  const passages = [...PASSAGES, WIDE, BROKEN, ...MANUAL, REPORT];
  server = await startTestServer({ title: "Things" }, passages);
  browser = await launchChromium();
});
test.after(async () => {
  await browser?.close();
  await server?.close();
});

const withPage = (work: (page: Page) => Promise<void>): Promise<void> =>
  withPageOf(browser, server.url, work);

/** Waits until the page shows a question's passages, with their marks. */
const whenDone = (page: Page) => page.waitForSelector("body[data-state=done]");

/** Types a filter, and asks. */
async function filterBy(page: Page, where: string): Promise<void> {
  await page.waitForSelector("#filter:not([hidden])");
  await page.$eval("#filter", (details) => details.setAttribute("open", ""));
  await page.fill("#where", where);
  await page.keyboard.press("Enter");
}

/** Opens the address of a question. */
async function open(page: Page, query: Readonly<Record<string, string>>): Promise<void> {
  await page.goto(`${server.url}/?${new URLSearchParams(query)}`);
  await whenDone(page);
}

const texts = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).allTextContents();

testPage("asking shows the answer, its evidence and the tokens that match", () =>
  withPage(async (page) => {
    await page.fill("#question", QUESTION);
    await page.click("#ask");
    await page.waitForSelector("#passages mark.match");
    assert.is((await texts(page, "#answer"))[0]!.trim(), "James Watt");
    assert.match((await texts(page, "#confidence"))[0]!, /^\d+\s% likely to answer$/);
    assert.equal(await texts(page, "#block"), [PASSAGES[0]!.text]);
    assert.equal(await texts(page, "#block mark"), ["James Watt"]);
    assert.equal(await texts(page, "#passages mark.answer"), ["James Watt"]);
    const marked = (await texts(page, "#passages li:first-child mark.match")).map((word) =>
      word.toLowerCase(),
    );
    assert.ok(marked.includes("patented"));
    assert.equal(
      marked.filter((word) => ["a", "in", "that"].includes(word)),
      [],
    );
    assert.ok((await texts(page, "#passages .text"))[0]!.startsWith("In 1781 James Watt"));
    assert.equal(await texts(page, "#home"), ["Things"]);
    assert.is(await page.locator("#passages > li:visible").count(), 5);
    await page.click("#more");
    assert.ok((await page.locator("#passages > li:visible").count()) > 5);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.is(width, PHONE.width);
    await page.emulateMedia({ media: "print" });
    assert.is(await page.locator("button:visible").count(), 0);
    assert.is(await page.isVisible("#block"), true);
  }),
);

interface Layout {
  readonly rows: number;
  readonly scrollWidth: number;
  readonly wide: readonly string[];
  readonly cut: readonly string[];
}

/** The passage's rows of text as they are painted, and what is wider than the page. */
const LAYOUT = `(() => {
  const text = document.querySelector("#passages .text");
  const range = document.createRange();
  range.selectNodeContents(text);
  const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
  const all = [...document.querySelectorAll("body *")];
  const { clientWidth, scrollWidth } = document.documentElement;
  const wide = all.filter((element) => element.getBoundingClientRect().right > clientWidth + 0.5);
  const cut = all.filter(
    (element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1 &&
      element.tagName !== "INPUT",
  );
  const names = (elements) => elements.map(({ tagName, className }) => tagName + "." + className);
  return { rows: tops.size, scrollWidth, wide: names(wide), cut: names(cut) };
})()`;

testPage("tables, long words and long ids wrap; the page does not scroll sideways", () =>
  withPage(async (page) => {
    for (const width of [PHONE.width, 320, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      await page.fill("#question", "Which quantity does the wide passage have?");
      await filterBy(page, 'kind = "wide"');
      await page.waitForSelector("#passages mark.match");
      assert.equal(await texts(page, "#passages h3"), [WIDE.title]);
      const layout = (await page.evaluate(LAYOUT)) as Layout;
      const { rows, ...rest } = layout;
      assert.equal(rest, { scrollWidth: width, wide: [], cut: [] });
      assert.ok(rows >= WIDE.text.split("\n").length, `${rows} rows at ${width} px`);
      if (width < 400) assert.ok(rows >= 10, `${rows} rows at ${width} px`);
      await page.reload();
    }
  }),
);

testPage("the answer appears whole: the model may still withhold it while it is read", () =>
  withPage(async (page) => {
    await page.evaluate(`
      window.seen = [];
      new MutationObserver(() => window.seen.push(document.querySelector("#answer").textContent))
        .observe(document.querySelector("#answer"), { childList: true });
    `);
    await page.fill("#question", QUESTION);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages li");
    const seen = (await page.evaluate("window.seen")) as string[];
    assert.equal([seen.includes("James"), seen.at(-1)], [false, "James Watt"], seen.join(" | "));
  }),
);

testPage("hostile passages stay text", () =>
  withPage(async (page) => {
    await page.fill("#question", "Who wrote the hostile passage?");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages mark.match");
    const all = (await texts(page, "#passages")).join();
    assert.ok(all.includes(HOSTILE));
    assert.is(await page.title(), "Who wrote the hostile passage? – Things");
    assert.is(await page.locator("#passages script, #passages img, #passages b").count(), 0);
  }),
);

testPage("a result with every kind of line break", () =>
  withPage(async (page) => {
    await page.fill("#question", "Which breaks does the broken passage have?");
    await filterBy(page, 'kind = "broken"');
    await page.waitForSelector("#passages mark.match");
    assert.equal(await texts(page, "#passages h3"), [BROKEN.title]);
    assert.is(await page.locator("#problem").isHidden(), true);
  }),
);

testPage("a filter by metadata, and the message for a wrong one", () =>
  withPage(async (page) => {
    await page.fill("#question", QUESTION);
    await filterBy(page, "year >= 2000");
    await page.waitForSelector("#passages li");
    assert.equal(await texts(page, "#passages h3"), ["Rhine"]);
    assert.ok((await texts(page, ".metadata li")).includes("year: 2001"));
    await filterBy(page, "year >=");
    await page.waitForSelector("#problem:not([hidden])");
    assert.match((await texts(page, "#problem"))[0]!, /^condition "year >="/);
  }),
);

testPage("a missing and a wrong API key: what to do, in words of the page", () =>
  withPage(async (page) => {
    await page.route("**/v1/*", (route) => route.fulfill({ status: 401, json: {} }));
    await page.fill("#question", QUESTION);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#key-row:not([hidden])");
    assert.match((await texts(page, "#problem"))[0]!, /^Enter an API key/);
    await page.fill("#key", "a key that nobody gave");
    await page.keyboard.press("Enter");
    await page.getByText("The server does not accept this API key.").waitFor();
  }),
);

testPage("Escape and the button cancel, also on the server", () =>
  withPage(async (page) => {
    for (const cancel of [() => page.keyboard.press("Escape"), () => page.click("#cancel")]) {
      server.lines.length = 0;
      await page.route("**/v1/answer", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        await route.continue().catch(() => {}); // cancelled
      });
      await page.fill("#question", QUESTION);
      await page.keyboard.press("Enter");
      await page.waitForSelector("#cancel:not([hidden])");
      await cancel();
      await page.waitForSelector("#ask:not([hidden])");
      assert.equal(await texts(page, "#answer"), ["Cancelled"]);
      await page.unroute("**/v1/answer");
    }
    await page.keyboard.press("Enter");
    await page.focus("#question");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages li");
  }),
);

testPage("the keyboard alone is enough", () =>
  withPage(async (page) => {
    await page.waitForSelector("#filter:not([hidden])");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("/");
    await page.keyboard.type(QUESTION);
    assert.is(await page.inputValue("#question"), QUESTION);
    const order: unknown[] = [];
    const tab = async () => {
      await page.keyboard.press("Tab");
      const focused = "document.activeElement.id || document.activeElement.tagName";
      order.push(await page.evaluate(focused));
    };
    await tab();
    await tab();
    await page.keyboard.press("Enter"); // opens the filter
    for (let i = 0; i < 4; i++) await tab();
    assert.equal(order, ["ask", "SUMMARY", "field", "comparison", "value", "add"]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await whenDone(page);
    await page.focus("#passages a[href^='?']");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#document:not([hidden])");
  }),
);

testPage("a question has an address: shared, back, forward and reloaded", () =>
  withPage(async (page) => {
    await page.fill("#question", QUESTION);
    await page.keyboard.press("Enter");
    await whenDone(page);
    assert.is(new URL(page.url()).searchParams.get("q"), QUESTION);
    assert.is(await page.title(), `${QUESTION} – Things`);
    await page.fill("#question", "Where does the Rhine flow?");
    await filterBy(page, 'lang = "en"');
    await page.waitForSelector("#passages li");
    assert.is(new URL(page.url()).searchParams.get("where"), 'lang = "en"');
    await page.goBack();
    await page.locator("#answer", { hasText: /^James Watt$/ }).waitFor();
    assert.equal(
      [await page.inputValue("#question"), await page.inputValue("#where")],
      [QUESTION, ""],
    );
    await page.goBack();
    await page.waitForSelector("#result", { state: "hidden" });
    assert.is(await page.title(), "Things");
    await page.goForward();
    await page.reload();
    await whenDone(page);
    assert.equal(await texts(page, "#answer"), ["James Watt"]);
  }),
);

testPage("tables and code keep their form, long passages are folded around the answer", () =>
  withPage(async (page) => {
    await open(page, {
      q: "How much does a bearing of the gearbox cost?",
      where: 'kind = "manual"',
    });
    const cells = await texts(page, "#passages td");
    assert.equal(cells, ["Shaft", "17 euros", "Bearing", "9 euros"]);
    const code = ["systemctl stop gearbox.service\n\nif (gear > 0) {\n  gear = 0;\n}"];
    assert.equal(await texts(page, "#passages pre"), code);
    const places = ["lines 1 to 6", "lines 8 to 20", "lines 22 to 40"];
    const facts = (await texts(page, "#passages .facts")).join();
    for (const place of places) assert.ok(facts.includes(place), facts);
    await open(page, { q: "Who designed the first gearbox?", where: 'kind = "manual"' });
    const history = page.locator('li[data-id="manual.md#3"]');
    const whole = MANUAL[2]!.text;
    const shown = (await history.locator(".text").textContent())!;
    assert.ok(shown.length < 1_000 && shown.includes("Ada Byron"), shown);
    await history.getByText("Show the whole passage").click();
    assert.is(await history.locator(".text").textContent(), whole);
  }),
);

testPage("a document opens at the passage, and Back returns without asking again", () =>
  withPage(async (page) => {
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
    });
    await open(page, { q: "Who designed the first gearbox?", where: 'kind = "manual"' });
    const link = page.locator('li[data-id="manual.md#2"]').getByText("Read in the document");
    const address = await link.getAttribute("href"); // for another tab, too
    assert.match(address!, /^\?document=manual\.md&passage=manual\.md%232(?:&at=\d+-\d+)?$/);
    await link.click();
    await page.waitForSelector("#chosen");
    assert.equal(
      await texts(page, "#document h3"),
      MANUAL.map(({ title }) => title),
    );
    assert.equal(await texts(page, "#chosen h3"), ["Manual > Reset"]);
    assert.is(new URL(page.url()).searchParams.get("document"), "manual.md");
    await page.getByRole("button", { name: "Back" }).click();
    await page.waitForSelector("#passages li");
    assert.equal(asked, ["/v1/answer", "/v1/explain", "/v1/get"]);
  }),
);

testPage("the block that answers is marked in its document", () =>
  withPage(async (page) => {
    await open(page, { q: "Who designed the first gearbox?", where: 'kind = "manual"' });
    await page.locator("#origin").getByText("Read in the document").click();
    await page.waitForSelector("#chosen mark");
    const marked = (await texts(page, "#chosen mark")).join("");
    assert.ok(marked.endsWith("Ada Byron designed the first gearbox in 1832."), marked);
    await page.reload();
    await whenDone(page);
    assert.is((await texts(page, "#chosen mark")).join(""), marked);
  }),
);

testPage("one probability; and a place in the words of its kind, no lines of HTML", () =>
  withPage(async (page) => {
    const block = { title: "Guide", document: "guide.html", start: 0, end: 12, kind: "paragraph" };
    const place = { document: "guide.html", place: "lines 126 to 134" };
    const passages = [
      { id: "1", title: "Guide > Reset", text: "Press reset.", score: 0.8, ...place },
      {
        ...{ id: "2", title: "Notes > Keys", text: "Two keys.", score: 0.7, document: "notes.md" },
        ...{ place: "lines 3 to 4", metadata: { _headings: ["Keys"] } },
      },
      { id: "3", title: "Prices", text: "Tea 2", score: 0.6, place: "sheet Tea, row 2" },
      { id: "4", title: "code.ts", text: "let a;", score: 0.5, place: "lines 7 to 9" },
    ];
    const evidence = [{ ...block, id: "1", text: "Press reset.", score: 0.9 }];
    const reply = { answer: "", abstained: true, confidence: 0, evidence, passages };
    const body = `event: reply\ndata: ${JSON.stringify(reply)}\n\n`;
    await page.route("**/v1/answer", (route) =>
      route.fulfill({ body, contentType: "text/event-stream" }),
    );
    await open(page, { q: "How do I reset it?" });
    const shown = (await page.textContent("main"))!;
    assert.equal(shown.match(/\d+\s% likely/g)?.length, 1);
    assert.ok(!shown.includes("126") && !shown.includes("lines 3"), shown);
    assert.ok(shown.includes("sheet Tea, row 2") && shown.includes("lines 7 to 9"), shown);
    await page.unrouteAll();
  }),
);

testPage("the first screen has the documents, and questions that they answer", () =>
  withPage(async (page) => {
    await whenDone(page);
    assert.equal(await texts(page, "#documents a"), ["manual.md", "report.pdf"]);
    const questions = await texts(page, "#questions a");
    assert.ok(questions.includes("When was the dam of Aswan completed?"), questions.join());
    assert.ok(questions.length <= 3);
    await page.getByText("When was the dam of Aswan completed?").click();
    await page.locator("#answer", { hasText: /^1970$/ }).waitFor();
    assert.is(await page.isVisible("#start"), false);
    await page.goBack();
    await page.waitForSelector("#documents a:visible");
    await page.locator("#documents a", { hasText: "manual.md" }).click();
    await page.waitForSelector("#document-passages li");
    assert.is(await page.textContent("#document-title"), "manual.md");
  }),
);

testPage("many documents: the first ones, a field to find others, and all on request", () =>
  withPage(async (page) => {
    const documents = Array.from({ length: 40 }, (_, i) => ({ document: `${i}.md`, passages: 1 }));
    await page.route("**/v1/documents", (route) =>
      route.fulfill({ json: { documents, omitted: 7 } }),
    );
    await page.reload();
    await page.waitForSelector("#documents a");
    assert.is(await page.locator("#documents a").count(), 12);
    await page.fill("#name", "39");
    assert.equal(await texts(page, "#documents a"), ["39.md"]);
    await page.fill("#name", "");
    await page.getByRole("button", { name: "28 more documents" }).click();
    assert.is(await page.locator("#documents a").count(), 40);
    assert.match((await texts(page, "#omitted"))[0]!, /^7 further documents not listed/);
    await page.unrouteAll();
  }),
);

testPage("a link opens a PDF at its page", () =>
  withPage(async (page) => {
    await open(page, { q: "When was the dam of Aswan completed?" });
    const link = page.locator("#origin a").first();
    assert.is(await link.getAttribute("href"), "https://example.org/report.pdf#page=3");
    assert.is(await link.textContent(), "Report");
    assert.ok((await texts(page, "#origin"))[0]!.includes("page 3"));
  }),
);

testPage("without an answer, the page says why in words", () =>
  withPage(async (page) => {
    await open(page, { q: "Which colour has the flag of Peru?" });
    assert.match((await texts(page, "#answer"))[0]!, /^Not sure/);
    assert.ok(await page.isVisible("#passages li"));
    await open(page, { q: QUESTION, where: "year < 1000" });
    assert.equal(await texts(page, "#answer"), ["No passage matches the filter."]);
    const guess = { answer: "Watt", abstained: false, confidence: 0.3, evidence: [], passages: [] };
    for (const [reply, shown] of [
      [{ ...guess, abstained: true, answer: "", confidence: 0 }, "Nothing found."],
      [guess, "Watt"],
      [
        {
          ...{ ...guess, abstained: true, answer: "", unknown: ["KX-4499", "Ann"] },
          passages: [{ id: "1", title: "", text: "a passage", score: 0 }],
        },
        "Not sure: no passage has “KX-4499” or “Ann”.",
      ],
      // folded: the beginning of the passage is white space
      [
        { ...guess, passages: [{ id: "1", title: "", text: `${" ".repeat(2_000)}end`, score: 0 }] },
        "Watt",
      ],
    ] as const) {
      const body = `event: reply\ndata: ${JSON.stringify(reply)}\n\n`;
      await page.route("**/v1/answer", (route) =>
        route.fulfill({ body, contentType: "text/event-stream" }),
      );
      await open(page, { q: "Who?" });
      assert.equal(await texts(page, "#answer"), [shown]);
      await page.unrouteAll();
    }
  }),
);

testPage("when the server is away, the page says what to do, and the question stays", () =>
  withPage(async (page) => {
    await page.waitForSelector("#filter:not([hidden])");
    await page.route("**/v1/**", (route) => route.abort());
    await page.fill("#question", QUESTION);
    await page.keyboard.press("Enter");
    await page.getByText(/The server does not answer. Check that reatt serve runs/).waitFor();
    assert.is(await page.inputValue("#question"), QUESTION);
    await page.unroute("**/v1/**");
    await page.click("#ask");
    await page.waitForSelector("#passages li");
  }),
);

testPage("a filter is put together from the fields and values of the index", () =>
  withPage(async (page) => {
    await page.fill("#question", "What is it about?");
    await page.click("#filter summary");
    const fields = await texts(page, "#field option");
    assert.equal(fields.includes("year") && fields.includes("kind"), true, fields.join());
    assert.is(fields.includes("_source"), false);
    await page.selectOption("#field", "kind");
    const values = await page.$$eval("#values option", (all) =>
      all.map((option) => option.getAttribute("value")),
    );
    assert.equal(values.sort(), ["broken", "manual", "wide"]);
    await page.fill("#value", "manual");
    await page.keyboard.press("Enter");
    await whenDone(page);
    assert.is(await page.inputValue("#where"), 'kind = "manual"');
    assert.is(await page.locator("#passages > li").count(), MANUAL.length);
    await page.selectOption("#field", "year");
    await page.selectOption("#comparison", ">=");
    await page.fill("#value", "1990");
    await page.click("#add");
    await page.getByText("No passage matches the filter.").waitFor();
    assert.is(await page.inputValue("#where"), 'kind = "manual" and year >= 1990');
    await page.click("#clear");
    await page.selectOption("#field", HOSTILE); // a name in quotes, with quotes inside
    await page.fill("#value", HOSTILE);
    await page.click("#add");
    await page.locator("#passages > li:only-child").waitFor();
    assert.equal(await texts(page, "#passages h3"), [PASSAGES[2]!.title]);
  }),
);

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds, as "rule: element". */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run()")) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

testPage("axe has no findings, in light and in dark, at three widths", () =>
  withPage(async (page) => {
    for (const [colorScheme, width] of [
      ["light", PHONE.width],
      ["light", 768],
      ["dark", 1280],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await open(page, {});
      assert.equal(await findings(page), []);
      await open(page, { q: "Who designed the first gearbox?", where: 'kind = "manual"' });
      await page.click("#filter summary");
      assert.equal(await findings(page), []);
      await page.getByText("Read in the document").first().click();
      await page.waitForSelector("#chosen");
      assert.equal(await findings(page), []);
    }
    await page.goto(`${server.url}/?q=Which+colour+has+the+flag+of+Peru%3F`);
    await whenDone(page);
    assert.equal(await findings(page), []);
  }),
);

/** A proxy that gives the server the prefix `/docs/`, and has a page of its own that embeds it. */
async function startProxy(target: string): Promise<{ proxy: Server; origin: string }> {
  const proxy = createServer((request, response) => {
    const { url = "", method, headers } = request;
    if (!url.startsWith("/docs/")) {
      response.setHeader("Content-Type", "text/html");
      response.end(`<iframe src="${new URL(url, target)}"></iframe>`);
      return;
    }
    const passed = send(
      new URL(url.slice("/docs".length), target),
      { method, headers },
      (reply) => {
        response.writeHead(reply.statusCode!, reply.headers);
        reply.pipe(response);
      },
    );
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  return { proxy, origin: `http://127.0.0.1:${port}` };
}

testPage("the page works under a prefix", async () => {
  const { proxy, origin } = await startProxy(server.url);
  await withPageOf(browser, `${origin}/docs/`, async (page) => {
    await page.fill("#question", QUESTION);
    await page.keyboard.press("Enter");
    await whenDone(page);
    assert.equal(await texts(page, "#answer"), ["James Watt"]);
    assert.ok(page.url().startsWith(`${origin}/docs/?q=Who`));
    await page.click("#home");
    await page.waitForURL(`${origin}/docs/`);
  }).finally(() => proxy.close());
});

testPage("only sites of --frame-ancestors may embed the page", async () => {
  const { model, index } = server;
  const { proxy, origin } = await startProxy(server.url);
  const options = resolveOptions(SERVER_OPTIONS, { port: 0, frameAncestors: [origin] });
  const open = await serve({ ...options, model, index, version: "1", log: () => {} });
  const page = await browser.newPage();
  try {
    const embedded = async (url: string) => {
      await page.goto(`${origin}/`);
      await page.setContent(`<iframe src="${url}/"></iframe>`);
      const frame = await (await page.waitForSelector("iframe")).contentFrame();
      await frame!.waitForLoadState();
      return frame!.locator("#question").count();
    };
    assert.is(await embedded(open.url), 1);
    assert.is(await embedded(server.url), 0);
  } finally {
    await page.close();
    proxy.close();
    await open.stop();
  }
});

test.run();
