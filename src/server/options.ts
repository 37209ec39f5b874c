/** The options of `reatt serve` that are not about the model or the index. */

import { flag, integer, number, option, path, type Resolved, text } from "../options/option.ts";

const SERVER = "Server";

export const SERVER_OPTIONS = {
  host: option(text().min(1, "an address").default("127.0.0.1"), {
    help: "address to listen on; 0.0.0.0 or :: for all networks",
    placeholder: "H",
    group: SERVER,
  }),
  port: option(integer(0, 65_535).default(8_080), {
    help: "port to listen on; 0 for a free one",
    group: SERVER,
  }),
  apiKeyFile: option(path().optional(), {
    help: "file of API keys, one a line; requests then need Authorization: Bearer KEY",
    placeholder: "FILE",
    defaultText: "no key is needed",
    group: SERVER,
  }),
  writable: option(flag().default(false), {
    help: "let clients add, replace and delete passages",
    group: SERVER,
  }),
  timeout: option(number({ above: 0, to: 3_600 }).default(60), {
    help: "seconds after which a request fails",
    group: SERVER,
  }),
  queue: option(integer(1, 10_000).default(128), {
    help: "requests that may wait; further ones get status 503",
    group: SERVER,
  }),
};

export type ServerOptions = Resolved<typeof SERVER_OPTIONS>;
