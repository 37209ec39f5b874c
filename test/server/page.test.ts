/** The page in Chromium. */

import type { Browser, Page } from "playwright-core";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasChromium, launchChromium, PHONE, withPage as withPageOf } from "../support/browser.ts";
import { HOSTILE, PASSAGES, startTestServer, type TestServer } from "./support.ts";

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

const QUESTION = "Who patented a steam engine in 1781?";
let server: TestServer;
let browser: Browser;

test.before(async () => {
  if (!hasChromium) return;
  server = await startTestServer({}, [...PASSAGES, WIDE, BROKEN]);
  browser = await launchChromium();
});
test.after(async () => {
  await browser?.close();
  await server?.close();
});

const withPage = (work: (page: Page) => Promise<void>): Promise<void> =>
  withPageOf(browser, server.url, work);

const texts = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).allTextContents();

testPage("asking shows the answer, its evidence and the tokens that match", () =>
  withPage(async (page) => {
    await page.fill("#question", QUESTION);
    await page.click("#ask");
    await page.waitForSelector("#passages mark.match");
    assert.is((await texts(page, "#answer"))[0]!.trim(), "James Watt");
    assert.match((await texts(page, "#confidence-text"))[0]!, /^Confidence \d+\s%$/);
    assert.equal(await texts(page, "#passages mark.answer"), ["James Watt"]);
    assert.ok((await texts(page, "#passages mark.match")).includes("patented"));
    assert.ok((await texts(page, "#passages .text"))[0]!.startsWith("In 1781 James Watt"));
    const shares = await page.$$eval("#passages .bar > span", (bars) =>
      bars.map((bar) => bar.getBoundingClientRect().width / 112),
    );
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 0.02, `${shares}`);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.is(width, PHONE.width);
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
      await page.fill("#where", 'kind = "wide"');
      await page.keyboard.press("Enter");
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
    assert.is(await page.title(), "reatt");
    assert.is(await page.locator("#passages script, #passages img, #passages b").count(), 0);
  }),
);

testPage("a result with every kind of line break", () =>
  withPage(async (page) => {
    await page.fill("#question", "Which breaks does the broken passage have?");
    await page.fill("#where", 'kind = "broken"');
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages mark.match");
    assert.equal(await texts(page, "#passages h3"), [BROKEN.title]);
    assert.is(await page.locator("#problem").isHidden(), true);
  }),
);

testPage("a filter by metadata, and the message for a wrong one", () =>
  withPage(async (page) => {
    await page.fill("#question", QUESTION);
    await page.fill("#where", "year >= 2000");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages li");
    assert.equal(await texts(page, "#passages h3"), ["Rhine"]);
    assert.ok((await texts(page, ".metadata li")).includes("year: 2001"));
    await page.fill("#where", "year >=");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#problem:not([hidden])");
    assert.match((await texts(page, "#problem"))[0]!, /^condition "year >="/);
  }),
);

testPage("a missing and a wrong API key: what to do, in words of the page", () =>
  withPage(async (page) => {
    await page.route("**/v1/answer", (route) => route.fulfill({ status: 401, json: {} }));
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
    await page.focus("#top-k");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("/");
    await page.keyboard.type(QUESTION);
    assert.is(await page.inputValue("#question"), QUESTION);
    const order = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("Tab");
      order.push(await page.evaluate("document.activeElement.id"));
    }
    assert.equal(order, ["ask", "where", "top-k"]);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#passages li");
  }),
);

test.run();
