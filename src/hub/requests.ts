/** Requests to the Hugging Face hub, with an `InputError` of one line for each failure. */

import { InputError } from "../io/errors.ts";
import { type HubModel, hubName } from "./model-name.ts";
import type { HubSettings } from "./settings.ts";

/** The hub cannot be reached, or cannot answer now. A cached model may do instead. */
export const isUnreachable = (error: unknown): error is InputError =>
  error instanceof InputError && error.code === "ERR_REATT_NO_HUB";

/**
 * A `fetch` for a model.
 *
 * @param maxBytes of a reply: reading more fails
 * @throws {InputError} unless the hub sends the resource
 */
export function hubFetch(
  model: HubModel,
  { endpoint, token }: Pick<HubSettings, "endpoint" | "token">,
  signal: AbortSignal,
  maxBytes = Infinity,
): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, signal }).catch((cause: unknown) => {
      throw unreachable(model, endpoint, reasonOf(cause), { cause });
    });
    if (response.ok) return maxBytes < Infinity ? limited(response, maxBytes) : response;
    await response.body?.cancel();
    throw problemOf(response, model, endpoint, token !== undefined);
  };
}

/** The same response, whose body fails after `maxBytes`. */
function limited(response: Response, maxBytes: number): Response {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new Error(`a reply of more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(counter) ?? null, response);
}

/** The innermost cause: undici says only "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no reply in time";
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

export const unreachable = (
  model: HubModel,
  endpoint: string,
  got: string,
  options?: ErrorOptions,
): InputError =>
  new InputError(
    {
      code: "ERR_REATT_NO_HUB",
      where: hubName(model),
      expected: `a folder, or a reply of ${endpoint}`,
      got,
      remedy: "check the name and the network, or HF_ENDPOINT",
    },
    options,
  );

const BUSY = 429;

/** Source: `hf_raise_for_status` of the Python library, and the header `X-Error-Code`. */
function problemOf(
  response: Response,
  model: HubModel,
  endpoint: string,
  hasToken: boolean,
): InputError {
  const { status, headers } = response;
  const code = headers.get("X-Error-Code");
  const fail = (expected: string, got: string, remedy: string): InputError =>
    new InputError({ code: "ERR_REATT_NO_MODEL", where: hubName(model), expected, got, remedy });
  // A network may answer for the hub, for example with a page to log in.
  const isPage = code === null && /^text\/html\b/i.test(headers.get("Content-Type") ?? "");
  if (status === BUSY || status >= 500 || isPage)
    return unreachable(model, endpoint, `status ${status}`);
  if (code === "GatedRepo")
    return fail(
      "a model that you may download",
      "a gated one",
      `accept its conditions at ${endpoint}/${model.repository} and set HF_TOKEN`,
    );
  if (code === "RevisionNotFound")
    return fail(`a model with the revision ${model.revision}`, "none", "check the name after @");
  if (code === "RepoNotFound" || status === 401 || status === 403 || status === 404)
    return fail(
      `a folder, or a model of ${endpoint}`,
      hasToken ? `neither that HF_TOKEN may read (status ${status})` : `neither (status ${status})`,
      "check the name; for a private model set HF_TOKEN",
    );
  return fail(`a reply of ${endpoint}`, `status ${status}`, "try again later");
}
