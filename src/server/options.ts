/** The options of `reatt serve` that are not about the model or the index. */

import { z } from "zod";
import {
  flag,
  infoOf,
  integer,
  number,
  option,
  path,
  type Resolved,
  text,
} from "../options/option.ts";
import { UNANSWERED } from "../options/search-request.ts";

const SERVER = "Server";

const HOST_NAMES = "names of hosts with commas between them";

const ORIGINS = "addresses of sites with commas between them";
const ORIGIN = /^https?:\/\/(?:\*\.)?[a-z0-9.-]+(?::\d{1,5})?$/i;

/** The tools that an assistant sees. */
export const TOOL_NAMES = ["search", "answer", "get", "multi_get", "status"] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

const toolSchema = z.strictObject({
  /** What the assistant calls the tool by. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "a name of letters, digits, - and _")
    .optional(),
  /** When and how to use it. */
  description: z.string().min(1).optional(),
});

/** How a collection is offered to assistants. */
export const assistantSchema = z.strictObject({
  /** What an assistant is told first. */
  instructions: z.string().min(1).optional(),
  tools: z.partialRecord(z.enum(TOOL_NAMES), toolSchema).optional(),
});

export type Assistant = z.output<typeof assistantSchema>;

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
  allowedHost: option(
    z.array(z.string().regex(/^[^\s/?#@\\:]+$/, HOST_NAMES), HOST_NAMES).default([]),
    {
      help: "names that clients call the server by, beside localhost, --host and all addresses",
      placeholder: "NAME,...",
      defaultText: "none",
      group: SERVER,
      parse: (given) => given.split(","),
    },
  ),
  title: option(text().min(1, "a title").optional(), {
    help: "what the documents are called, on the page and for assistants",
    defaultText: "the name of the collection, or of the folder of the index",
    group: SERVER,
  }),
  description: option(text().min(1, "a description").optional(), {
    help: "what the documents are about, for assistants",
    group: SERVER,
  }),
  assistant: option(assistantSchema.optional(), {
    help: "instructions and tools for assistants",
    group: SERVER,
    flag: false,
  }),
  frameAncestors: option(z.array(z.string().regex(ORIGIN, ORIGINS), ORIGINS).default([]), {
    help: "sites that may embed the page, such as https://example.org",
    placeholder: "SITE,...",
    defaultText: "none",
    group: SERVER,
    parse: (given) => given.split(","),
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
  shutdownTimeout: option(number({ from: 0, to: 3_600 }).default(60), {
    help: "seconds after which a stop ends the requests that are still running",
    group: SERVER,
  }),
  unansweredFile: option(UNANSWERED.unansweredFile.clone(), {
    ...infoOf(UNANSWERED.unansweredFile),
    group: SERVER,
  }),
  queue: option(integer(1, 10_000).default(128), {
    help: "requests that may wait; further ones get status 503",
    group: SERVER,
  }),
};

export type ServerOptions = Resolved<typeof SERVER_OPTIONS>;
