/** A server of the shipped model over a few passages, for tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveOptions } from "../../src/options/resolve.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { SERVER_OPTIONS } from "../../src/server/options.ts";
import { type ServeOptions, type Serving, serve } from "../../src/server/serve.ts";
import type { LogLevel } from "../../src/server/service/log.ts";
import type { Passage } from "../../src/text/passage.ts";

/** Text that would act if it became HTML. */
export const HOSTILE =
  "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">";

export const PASSAGES: readonly Passage[] = [
  {
    id: "watt/1",
    title: "Steam engine",
    text: "In 1781 James Watt patented a steam engine that produced continuous rotary motion.",
    metadata: { year: 1781, lang: "en" },
  },
  {
    id: "rhine",
    title: "Rhine",
    text: "The Rhine flows from the Alps to the North Sea.",
    metadata: { year: 2001, lang: "en", tags: ["river", HOSTILE], floods: [1993, 1995] },
  },
  {
    id: "hostile",
    title: `Hostile ${HOSTILE}`,
    text: `The hostile passage was written by Mallory. ${HOSTILE}</p><b>Mallory</b>`,
    metadata: { [HOSTILE]: HOSTILE },
  },
];

/** A page of a PDF on the web. */
export const REPORT: Passage = {
  id: "report.pdf#1",
  title: "Report",
  text: "The dam of Aswan was completed in 1970.",
  document: "report.pdf",
  metadata: { _source: "report.pdf", _page: 3, url: "https://example.org/report.pdf" },
};

export interface LogLine {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

export interface TestServer extends Serving {
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly directory: string;
  readonly lines: LogLine[];
  close(): Promise<void>;
}

/** Starts a server on a free port. */
export async function startTestServer(
  changes: Partial<ServeOptions> = {},
  passages: readonly Passage[] = PASSAGES,
): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "reatt-server-"));
  const model = await ReAtt.load("models/reatt-mini");
  const index = await model.index(passages, { directory });
  const lines: LogLine[] = [];
  const serving = await serve({
    ...resolveOptions(SERVER_OPTIONS, { port: 0 }),
    ...{ model, index, version: "1.2.3" },
    log: (level, event, fields) => lines.push({ level, event, fields }),
    ...changes,
  });
  let stopped: Promise<number> | undefined;
  const stop = (): Promise<number> => {
    stopped ??= serving.stop();
    return stopped;
  };
  return {
    ...{ model, index, directory, lines, url: serving.url, stop },
    async close() {
      await stop();
      await index.close();
      await model.close();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Sends JSON. */
export const send = (
  url: string,
  body: unknown,
  options: RequestInit & { readonly headers?: Record<string, string> } = {},
): Promise<Response> =>
  fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    ...options,
    headers: { "Content-Type": "application/json", ...options.headers },
  });
