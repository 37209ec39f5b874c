/** The page in Chromium. */

import type { Browser, Page } from "playwright-core";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasChromium, launchChromium, PHONE, withPage as withPageOf } from "../support/browser.ts";
import { HOSTILE, startTestServer, type TestServer } from "./support.ts";

const testPage = hasChromium ? test : test.skip;

const QUESTION = "Who patented a steam engine in 1781?";
let server: TestServer;
let browser: Browser;

test.before(async () => {
  if (!hasChromium) return;
  server = await startTestServer();
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

testPage("the answer appears piece by piece", () =>
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
    assert.ok(seen.includes("James") && seen.includes("James Watt"), seen.join(" | "));
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
