/** The files of the page at `/`. They are read once. */

import { readFileSync } from "node:fs";

export interface PageFile {
  /** The path of the request. */
  readonly path: string;
  readonly type: string;
  readonly contents: string;
}

const load = (path: string, name: string, type: string): PageFile => ({
  path,
  type: `${type}; charset=utf-8`,
  contents: readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8"),
});

/** The modules of the page. */
const MODULES = ["page.js", "api.js", "dom.js", "filter.js", "start.js", "text.js", "view.js"];

export const loadPage = (): PageFile[] => [
  load("/", "index.html", "text/html"),
  load("/page.css", "page.css", "text/css"),
  load("/icon.svg", "icon.svg", "image/svg+xml"),
  ...MODULES.map((name) => load(`/${name}`, name, "text/javascript")),
];
