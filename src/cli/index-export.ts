/** `reatt index export`: the token keys of an index as a table that many readers share. */

import { exportToLance } from "../retrieval/lance/lance-export.ts";
import { type Command, defineCommand } from "./options.ts";
import { type Progress, startProgress } from "./progress.ts";

export const exportCommand: Command = defineCommand({
  name: "index export",
  summary: "Writes the token keys of an index to a LanceDB table, or brings that up to date.",
  options: {
    index: { kind: "text", placeholder: "DIR", help: "folder of the index", required: true },
    lancedb: {
      kind: "text",
      placeholder: "URI",
      help: "where the table is or will be: a folder, or a place in an object store (s3://bucket/folder)",
      required: true,
    },
  },
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
