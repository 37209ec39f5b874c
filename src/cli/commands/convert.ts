/** `reatt convert`: copies a model with its weights in another precision. */

import { formatBytes } from "../../io/format-bytes.ts";
import { CONVERT_OPTIONS, convertModel } from "../../model/convert.ts";
import { integer, option } from "../../options/option.ts";
import { defineCommand } from "../line/command.ts";
import { startDownloadProgress } from "../output/download-progress.ts";
import { MODEL } from "../shared/file-options.ts";

const UNITS: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9 };

export const convertCommand = defineCommand({
  options: {
    model: MODEL,
    ...CONVERT_OPTIONS,
    shards: option(integer(1).optional(), {
      help: "write files of at most this size, such as 2GB",
      placeholder: "SIZE",
      defaultText: "one file",
      parse: parseSize,
    }),
  },
  library: { convertModel },
  example: "reatt convert --model google-t5/t5-large --precision int8 --out t5-large-int8",
  async run({ model, shards: shardBytes, ...given }, signal, _, { convertModel }) {
    const { report, stop } = startDownloadProgress();
    const options = { ...given, shardBytes, signal, onProgress: report };
    const bytes = await convertModel(model, options).finally(stop);
    process.stdout.write(`${given.out}  ${formatBytes(bytes)}\n`);
  },
});

/** `500MB` -> 500,000,000. Text that is not a size stays text, which the schema then rejects. */
function parseSize(text: string): number | string {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?) ?(kB|MB|GB)?$/.exec(text) ?? [];
  return digits === undefined ? text : Math.round(Number(digits) * (UNITS[unit] ?? 1));
}
