/**
 * Takes the pictures of the page in `docs/images`: `tsx scripts/screenshots.ts [FOLDER]`.
 *
 * A server answers over a small handbook with the model of the package, and Chromium asks.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { readDocuments } from "../src/documents/read-documents.ts";
import { startTestServer } from "../test/server/support.ts";
import { launchChromium, PHONE } from "../test/support/browser.ts";

const HANDBOOK: Readonly<Record<string, string>> = {
  "travel.md": `---
title: Travel
team: Finance
year: 2024
---
# Booking

Book trains and flights with the travel desk at least seven days before you leave. Trips above 2,000
euros need the approval of your manager.

# Expenses

Hand in receipts within 30 days after the trip. Meals are paid as follows:

| Country | A day | Half a day |
|---|---|---|
| Germany | 28 euros | 14 euros |
| France | 53 euros | 27 euros |
| Japan | 50 euros | 25 euros |

Rental cars are insured by the company. Fuel is paid with the card in the glove box, never with your own.
`,
  "backup.md": `---
title: Backups
team: Operations
year: 2023
---
# Schedule

The database is backed up every night at 02:30. Backups are kept for 35 days in Frankfurt, and one a
month for seven years.

# Restoring

Stop the service first. Then restore the newest backup:

\`\`\`sh
systemctl stop shop
pgbackrest --stanza=shop --delta restore
systemctl start shop
\`\`\`

A restore of 400 GB takes about two hours. Tell the people on call before you begin, and write down in the
incident log which backup you have used and why.
`,
  "leave.md": `---
title: Leave
team: People
year: 2024
---
# Holidays

Everyone has 30 days of holidays a year. Up to five days can be taken until the end of March of the next
year. Ask for holidays in the calendar; your manager answers within three days.

# Parental leave

Both parents can take up to twelve months of parental leave. Tell People eight weeks before it begins.
`,
  "office.md": `---
title: The office in Bremen
team: People
year: 2022
---
The office in Bremen opened in 2016 and has 84 desks. The door opens with your badge between 6:00 and 22:00.
Visitors sign in at the reception, and wear a badge. The kitchen on the second floor is cleaned every evening.
`,
};

const folder = process.argv[2] ?? "docs/images";
const documents = mkdtempSync(join(tmpdir(), "reatt-handbook-"));
for (const [name, text] of Object.entries(HANDBOOK)) writeFileSync(join(documents, name), text);
mkdirSync(folder, { recursive: true });
const collection = { title: "Handbook", description: "Rules of the company" };
const passages = [];
for await (const passage of readDocuments(documents)) passages.push(passage);
const server = await startTestServer(collection, passages);
const browser = await launchChromium();
try {
  await take("page-start", { query: {} });
  const meals = "How much is paid for meals in France?";
  await take("page", { query: { q: "When did the office in Bremen open?" } });
  await take("page-table", { query: { q: meals } });
  await take("page-code", { query: { q: "How do I restore the database?" } });
  await take("page-not-sure", { query: { q: "Who founded the company?" } });
  await take("page-nothing-found", { query: { q: meals, where: "year < 2020" } });
  await take("page-filter", {
    query: { q: "How many days?", where: 'team = "People"' },
    work: (page) => page.click("summary"),
  });
  await take("page-phone", { query: { q: "When did the office in Bremen open?" }, phone: true });
  await take("page-dark", { query: { q: "When did the office in Bremen open?" }, dark: true });
  await take("page-document", {
    query: { q: "How long are backups kept?" },
    work: async (page) => {
      await page.getByText("Read in the document").first().click();
      await page.waitForSelector("#chosen");
    },
  });
} finally {
  await browser.close();
  await server.close();
  rmSync(documents, { recursive: true });
}

interface Picture {
  readonly query: Readonly<Record<string, string>>;
  readonly phone?: boolean;
  readonly dark?: boolean;
  /** What is done after the answer. */
  readonly work?: (page: Page) => Promise<void>;
}

async function take(name: string, { query, phone, dark, work }: Picture): Promise<void> {
  const page = await (browser as Browser).newPage({
    viewport: phone ? PHONE : { width: 900, height: 700 },
    colorScheme: dark ? "dark" : "light",
  });
  await page.goto(`${server.url}/?${new URLSearchParams(query)}`);
  await page.waitForSelector("body[data-state=done]");
  await work?.(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}
