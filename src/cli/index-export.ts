/** `reatt index export`: writes the token keys of an index to a table that many readers share. */

import { option, text } from "../options/option.ts";
import { exportToLance } from "../retrieval/lance/lance-export.ts";
import { defineCommand } from "./command.ts";
import { INDEX } from "./file-options.ts";
import { type Progress, startProgress } from "./progress.ts";

export const exportCommand = defineCommand({
  options: {
    index: INDEX,
    lancedb: option(text(), {
      help: "the table: a folder, or a place in an object store (s3://bucket/folder)",
      placeholder: "URI",
    }),
  },
  example: "reatt index export --index index --lancedb s3://bucket/table",
  async run({ index, lancedb: uri }, signal) {
    let copying: Progress | undefined;
    await exportToLance(index, {
      uri,
      signal,
      onProgress: ({ event, tokens, total }) => {
        if (event === "copied") {
          copying ??= startProgress("tokens", total);
          return copying.update(tokens);
        }
        copying?.stop();
        process.stderr.write(
          event === "indexing" ? "Sorting them into partitions\n" : `${uri} is up to date\n`,
        );
      },
    }).finally(() => copying?.stop());
  },
});
