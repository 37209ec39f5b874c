/**
 * The settings of the Hugging Face hub, from the environment variables of its Python library.
 * Source: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
 */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InputError, inputErrorFrom, isMissing } from "../io/errors.ts";

export interface HubSettings {
  /** The address of the hub, without a slash at its end: `HF_ENDPOINT`. */
  readonly endpoint: string;
  /** The folder of all cached repositories: `HF_HUB_CACHE`, else `hub` in `HF_HOME`. */
  readonly cache: string;
  /** `HF_TOKEN`, else the token that `hf auth login` stored. */
  readonly token: string | undefined;
  /** `HF_HUB_OFFLINE`: use the cache only. */
  readonly offline: boolean;
  /** Milliseconds without progress after which a download ends: `HF_HUB_DOWNLOAD_TIMEOUT` in s. */
  readonly timeout: number;
}

/** @throws {InputError} if a variable has a value that the hub does not accept */
export async function readHubSettings(): Promise<HubSettings> {
  const { getHFHubCachePath } = await import("@huggingface/hub");
  const cache = getHFHubCachePath();
  const { HF_ENDPOINT, HF_HUB_OFFLINE = "", HF_HUB_DOWNLOAD_TIMEOUT } = process.env;
  return {
    endpoint: checkedEndpoint(HF_ENDPOINT || "https://huggingface.co"),
    cache,
    token: await readToken(cache),
    offline: /^(1|on|yes|true)$/i.test(HF_HUB_OFFLINE),
    timeout: 1_000 * checkedTimeout(HF_HUB_DOWNLOAD_TIMEOUT || String(TIMEOUT_S)),
  };
}

const TIMEOUT_S = 30;
const MAX_TIMEOUT_S = 86_400;

function checkedTimeout(given: string): number {
  const seconds = Number(given);
  if (seconds > 0 && seconds <= MAX_TIMEOUT_S) return seconds;
  throw new InputError({
    where: "HF_HUB_DOWNLOAD_TIMEOUT",
    expected: `a number of seconds up to ${MAX_TIMEOUT_S}`,
    got: `"${given}"`,
    remedy: "correct the variable or remove it",
  });
}

function checkedEndpoint(given: string): string {
  if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol))
    return given.replace(/\/+$/, "");
  throw new InputError({
    where: "HF_ENDPOINT",
    expected: "the address of a hub, such as https://huggingface.co",
    got: `"${given}"`,
    remedy: "correct the variable or remove it",
  });
}

async function readToken(cache: string): Promise<string | undefined> {
  const { HF_TOKEN, HF_TOKEN_PATH, HF_HOME } = process.env;
  const file = HF_TOKEN_PATH || join(HF_HOME || dirname(cache), "token");
  const token = (HF_TOKEN || (await readTokenFile(file)))?.trim();
  if (!token || token.startsWith("hf_")) return token || undefined;
  throw new InputError({
    where: HF_TOKEN ? "HF_TOKEN" : file,
    expected: "a token of the hub, which begins with hf_",
    got: "another text",
    remedy: "create one at https://huggingface.co/settings/tokens",
  });
}

const readTokenFile = (file: string): Promise<string | undefined> =>
  readFile(file, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    const expected = "a file with a token of the hub";
    throw inputErrorFrom(error, { where: file, expected, remedy: "set HF_TOKEN instead" });
  });
