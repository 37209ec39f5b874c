/** Reads the bodies of requests: JSON of limited size, checked against a table. */

import type { Context } from "hono";
import { parseJson } from "../../io/json/parse-json.ts";
import type { Given, OptionTable, Resolved } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { ApiError, ofRequest } from "../service/api-error.ts";
import type { Env } from "./env.ts";

/** 1,000 passages of 500 words have 3 MB. */
const MAX_BODY_BYTES = 8_000_000;
/** Bytes of the bodies of all requests that are not answered. Values take several times it. */
const MAX_TOTAL_BYTES = 64_000_000;
/** The first bytes of each body are free: clients that send large bodies lock out no questions. */
const FREE_BYTES = 65_536;

export class BodyReader {
  /** Bytes of all bodies, without the free ones. */
  #total = 0;

  /**
   * The body as a table describes it.
   *
   * @throws {ApiError} if the body is too large, is not JSON or is not as the table says, if those
   * of all requests take too much memory, or if the client has gone
   */
  async options<Table extends OptionTable>(
    c: Context<Env>,
    table: Table,
  ): Promise<Resolved<Table>> {
    const given = await this.json(c);
    if (typeof given !== "object" || given === null || Array.isArray(given))
      throw new ApiError("invalid_request", "the body is not a JSON object");
    return ofRequest(() => resolveOptions(table, given as Given<Table>));
  }

  /** The body as JSON of at most 100 levels and 500,000 values. @throws {ApiError} as `options` */
  async json(c: Context<Env>): Promise<unknown> {
    if (!/^application\/json\s*(;|$)/i.test(c.req.header("Content-Type") ?? ""))
      throw new ApiError("unsupported_media_type", "send Content-Type: application/json");
    if ((c.req.header("Content-Encoding") ?? "identity").toLowerCase() !== "identity")
      throw new ApiError("unsupported_media_type", "send the body without Content-Encoding");
    const bytes = await this.#read(c);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return ofRequest(() => parseJson(text, "the body"));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError("invalid_request", "the body is not JSON in UTF-8");
    }
  }

  /** Reads as much as is allowed, whatever length the request declares. */
  async #read(c: Context<Env>): Promise<Buffer> {
    const take = this.#counter(c.env.outgoing);
    const chunks: Uint8Array[] = [];
    let size = 0;
    if (Number(c.req.header("Content-Length")) > MAX_BODY_BYTES) throw tooLarge();
    const body = (c.req.raw.body ?? []) as AsyncIterable<Uint8Array>;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) throw tooLarge();
        take(Math.min(chunk.length, size - FREE_BYTES));
        chunks.push(chunk);
      }
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError("cancelled", "the client has gone", { cause: error });
    }
    return Buffer.concat(chunks);
  }

  /** Counts bytes of a request until it is answered or its client has gone. */
  #counter(outgoing: Env["Bindings"]["outgoing"]): (bytes: number) => void {
    let counted = 0;
    outgoing.once("close", () => {
      this.#total -= counted;
    });
    return (bytes) => {
      if (bytes <= 0 || outgoing.destroyed) return;
      if (this.#total + bytes > MAX_TOTAL_BYTES)
        throw new ApiError("overloaded", "large requests are waiting; try again later");
      this.#total += bytes;
      counted += bytes;
    };
  }
}

const tooLarge = (): ApiError =>
  new ApiError("payload_too_large", `a body has at most ${MAX_BODY_BYTES} bytes`);
