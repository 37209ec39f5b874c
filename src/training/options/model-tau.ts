/** The temperature of the head weights as a number. */

import { readConfig } from "../../model/config.ts";

interface TauOptions {
  readonly model: string;
  readonly tau?: number | "model" | undefined;
}

/** The options with `distillation_tau` of `config.json` for the temperature `model`. */
export async function withModelTau<Options extends TauOptions>(
  options: Options,
): Promise<Options & { readonly tau?: number | undefined }> {
  // The given options are not checked yet.
  if (options?.tau !== "model" || typeof options.model !== "string")
    return options as Options & { readonly tau?: number | undefined };
  return { ...options, tau: (await readConfig(options.model)).distillationTau };
}
