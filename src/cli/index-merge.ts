/** `reatt index merge`: one index of the shards that were built apart. */

import { mergeShards } from "../retrieval/index/maintain/compact.ts";
import { indexInfo } from "../retrieval/index/maintain/info.ts";
import { BITS_OPTION, parseBits, startBuildProgress } from "./index-build.ts";
import { type Command, defineCommand, UsageError } from "./options.ts";

export const mergeCommand: Command = defineCommand({
  name: "index merge",
  summary: "Joins the shards of a build to an index that equals one built as a whole.",
  options: {
    out: { kind: "text", placeholder: "DIR", help: "folder of the whole index", required: true },
    bits: BITS_OPTION,
  },
  operands: { placeholder: "SHARD...", help: "folders of all the shards, in any order" },
  async run({ out, bits }, signal, shards) {
    if (shards.length === 0) throw new UsageError("which shards?");
    const infos = await Promise.all(shards.map(indexInfo));
    const progress = startBuildProgress(infos.reduce((sum, { passages }) => sum + passages, 0));
    await mergeShards(shards, {
      directory: out,
      bits: parseBits(bits),
      onProgress: progress.report,
      signal,
    }).finally(progress.stop);
    const { passages, tokens } = await indexInfo(out);
    process.stderr.write(
      `Merged ${shards.length} shards, ${passages} passages, ${tokens} tokens: ${out}\n`,
    );
  },
});
