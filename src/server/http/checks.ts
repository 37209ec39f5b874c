/** Who may ask: checks of the key, of the name of the server and of the origin. */

import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { excerpt } from "../../io/excerpt.ts";
import { ApiError } from "../service/api-error.ts";
import type { KeyCheck } from "./api-keys.ts";

/** Requests need `Authorization: Bearer KEY`. Without keys, all may ask. */
export const checkKey =
  (isKey: KeyCheck | undefined): MiddlewareHandler =>
  async (c, next) => {
    const [, key] = /^Bearer +(\S+)$/i.exec(c.req.header("Authorization") ?? "") ?? [];
    if (isKey && (key === undefined || !isKey(key))) {
      c.header("WWW-Authenticate", "Bearer");
      throw new ApiError("unauthorized", "send Authorization: Bearer KEY with a valid key");
    }
    await next();
  };

/**
 * A site that lets its own name point to the address of the server (DNS rebinding) could ask it
 * through the browsers of others. Such requests have the name of the site as their host. A host
 * that is an address is safe: the browser has connected to it.
 *
 * @param names that the server is called by, beside `localhost` and all addresses
 */
export const checkHost = (names: readonly string[]): MiddlewareHandler => {
  const known = new Set(["localhost", ...names].map((name) => hostOf(name)?.hostname));
  return async (c, next) => {
    const host = c.req.header("Host") ?? "";
    const name = hostOf(host)?.hostname;
    if (name === undefined || !(known.has(name) || isAddress(name)))
      throw new ApiError("forbidden", `${excerpt(host)} is no name of this server`);
    await next();
  };
};

/** Pages of other origins may not ask: the server sends no CORS headers. */
export const checkOrigin: MiddlewareHandler = async (c, next) => {
  const origin = c.req.header("Origin");
  const host = hostOf(c.req.header("Host") ?? "")?.host;
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host))
    throw new ApiError("forbidden", "requests from pages of other origins are not allowed");
  await next();
};

/** Whether `name` is an address: `127.0.0.1` or `[::1]`. */
const isAddress = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, "")) !== 0;

/** `LOCALHOST.:8080` -> host `localhost:8080`, hostname `localhost`; undefined if it is no host. */
function hostOf(text: string): { host: string; hostname: string } | undefined {
  const address = `http://${isIP(text) === 6 ? `[${text}]` : text}`;
  if (!/^[^/?#@\\\s]+$/.test(text) || !URL.canParse(address)) return undefined;
  const { hostname, port } = new URL(address);
  const name = hostname.replace(/\.$/, "");
  return { hostname: name, host: port === "" ? name : `${name}:${port}` };
}
