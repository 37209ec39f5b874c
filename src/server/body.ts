/** Reads the body of a request: JSON of limited size, checked against a table. */

import type { Given, OptionTable, Resolved } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { ApiError } from "./api-error.ts";

/** 1,000 passages of 500 words have 3 MB. */
export const MAX_BODY_BYTES = 8_000_000;
/** Deeper values would exhaust the stack of whoever looks at all of them. */
const MAX_DEPTH = 100;

/**
 * @throws {ApiError} if the body is too large or not JSON
 * @throws {InputError} if it is not as the table says
 */
export async function bodyOf<Table extends OptionTable>(
  request: Request,
  table: Table,
): Promise<Resolved<Table>> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("Content-Type") ?? ""))
    throw new ApiError("unsupported_media_type", "send Content-Type: application/json");
  const given = parse(await readBytes(request));
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ApiError("invalid_request", "the body is not a JSON object");
  if (isDeeper(given, MAX_DEPTH))
    throw new ApiError("invalid_request", `the body has more than ${MAX_DEPTH} levels`);
  return resolveOptions(table, given as Given<Table>);
}

/** Reads no more than the limit, whatever length the request declares. */
async function readBytes({ headers, body }: Request): Promise<Buffer> {
  const tooLarge = (): never => {
    throw new ApiError("payload_too_large", `a body has at most ${MAX_BODY_BYTES} bytes`);
  };
  if (Number(headers.get("Content-Length")) > MAX_BODY_BYTES) tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError("invalid_request", "the body is not JSON in UTF-8");
  }
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
