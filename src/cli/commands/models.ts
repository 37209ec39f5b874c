/** `reatt models`: the models that can be used without a download. */

import { type AvailableModel, availableModels } from "../../hub/available-models.ts";
import { formatBytes } from "../../io/format-bytes.ts";
import { defineCommand } from "../line/command.ts";
import { JSON_LINES } from "../shared/file-options.ts";

export const modelsCommand = defineCommand({
  options: { json: JSON_LINES },
  example: "reatt models",
  async run({ json }) {
    const models = await availableModels();
    const lines = json ? models.map((model) => JSON.stringify(model)) : table(models);
    process.stdout.write(`${lines.join("\n")}\n`);
  },
});

function table(models: readonly AvailableModel[]): string[] {
  const names = models.map(({ name }) => name ?? "(default)");
  const width = Math.max(...names.map((name) => name.length));
  return models.map(({ folder, bytes }, i) =>
    [names[i]!.padEnd(width), formatBytes(bytes).padStart(8), folder].join("  "),
  );
}
