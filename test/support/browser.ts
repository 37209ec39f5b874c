/** Chromium for tests: Debian's, with playwright-core. */

import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import * as assert from "uvu/assert";

const CHROMIUM = "/usr/bin/chromium";
/** The width of a common phone. */
export const PHONE = { width: 390, height: 844 };

export const hasChromium: boolean = existsSync(CHROMIUM);
if (!hasChromium) console.log(`skipped: there is no ${CHROMIUM} (Debian: chromium)`);

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

/** Opens the page of a server, works with it, and expects no error and no request elsewhere. */
export async function withPage(
  browser: Browser,
  url: string,
  work: (page: Page) => Promise<void>,
): Promise<void> {
  const page = await browser.newPage({ viewport: PHONE });
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) problems.push(request.url());
  });
  try {
    await page.goto(url);
    await work(page);
    assert.equal(problems, []);
  } finally {
    await page.close();
  }
}
