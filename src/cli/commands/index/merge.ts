/** `reatt index merge`: merges shards that were built apart. */

import { DIRECTORY, INDEX_OPTIONS, WRITE_OPTIONS } from "../../../options/library-options.ts";
import { mergeShards } from "../../../retrieval/index/maintain/compact.ts";
import { indexInfo } from "../../../retrieval/maintain.ts";
import { defineCommand } from "../../line/command.ts";
import { startBuildProgress } from "../../output/build-progress.ts";
import { UsageError } from "../../shared/usage-error.ts";

export const mergeCommand = defineCommand({
  options: {
    out: DIRECTORY.directory,
    bits: INDEX_OPTIONS.bits,
    replace: INDEX_OPTIONS.replace,
    ...WRITE_OPTIONS,
  },
  operands: { placeholder: "SHARD...", help: "folders of all shards, in any order" },
  library: { indexInfo, mergeShards },
  example: "reatt index merge --out index shard-1 shard-2",
  async run({ out: directory, ...options }, signal, shards, { indexInfo, mergeShards }) {
    if (shards.length === 0) throw new UsageError("which shards?");
    const infos = await Promise.all(shards.map((shard) => indexInfo(shard)));
    const progress = startBuildProgress(infos.reduce((sum, { passages }) => sum + passages, 0));
    await mergeShards(shards, {
      ...options,
      directory,
      signal,
      onProgress: progress.report,
    }).finally(progress.stop);
    const { passages, tokens } = await indexInfo(directory);
    process.stderr.write(
      `Merged ${shards.length} shards, ${passages} passages, ${tokens} tokens: ${directory}\n`,
    );
  },
});
