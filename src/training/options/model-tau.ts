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
  const tau =
    options.tau === "model" ? (await readConfig(options.model)).distillationTau : options.tau;
  return { ...options, tau };
}
