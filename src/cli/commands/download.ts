/** `reatt download`: downloads models, for example to use them without a network later. */

import { downloadModel } from "../../hub/download.ts";
import { parseHubName } from "../../hub/model-name.ts";
import { defineCommand } from "../line/command.ts";
import { startDownloadProgress } from "../output/download-progress.ts";
import { UsageError } from "../shared/usage-error.ts";

export const downloadCommand = defineCommand({
  options: {},
  operands: { placeholder: "ORG/NAME[@REVISION]...", help: "names of T5 models on the hub" },
  example: "reatt download google-t5/t5-small",
  async run(_values, signal, names) {
    if (names.length === 0) throw new UsageError("download which model? reatt download ORG/NAME");
    const models = names.map((name) => {
      const model = parseHubName(name);
      if (model) return model;
      throw new UsageError(`expected a name of the hub, ORG/NAME[@REVISION], got "${name}"`);
    });
    for (const model of models) {
      const { report, stop } = startDownloadProgress();
      const folder = await downloadModel(model, { onProgress: report, signal }).finally(stop);
      process.stdout.write(`${folder}\n`);
    }
  },
});
