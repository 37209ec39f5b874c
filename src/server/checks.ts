/** Who may ask: checks of the key, of the name of the server and of the origin. */

import type { MiddlewareHandler } from "hono";
import { ApiError } from "./api-error.ts";
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
 * A site that lets its own name point to this computer (DNS rebinding) could read a server that
 * only this computer reaches. Its requests have the name of the site.
 */
export const checkHost =
  (names: readonly string[] | undefined): MiddlewareHandler =>
  async (c, next) => {
    if (names && !names.includes(hostName(c.req.header("Host") ?? "")))
      throw new ApiError("forbidden", `the server is called ${names.join(" or ")}`);
    await next();
  };

/** Pages of other origins may not ask: the server sends no CORS headers. */
export const checkOrigin: MiddlewareHandler = async (c, next) => {
  const origin = c.req.header("Origin");
  if (origin !== undefined && hostOf(origin) !== c.req.header("Host"))
    throw new ApiError("forbidden", "requests from pages of other origins are not allowed");
  await next();
};

/** `localhost:8080` -> `localhost`; `[::1]:8080` -> `[::1]` */
const hostName = (host: string): string => host.replace(/:\d+$/, "").toLowerCase();

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
