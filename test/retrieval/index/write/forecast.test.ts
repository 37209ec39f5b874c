import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { formatBytes } from "../../../../src/io/format-bytes.ts";
import {
  type ForecastOptions,
  forecastBuild,
} from "../../../../src/retrieval/index/write/forecast.ts";
import { indexInfo } from "../../../../src/retrieval/maintain.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { build, header, makePassages, rejects, temporary } from "../../support.ts";
import { addingStates, statesHeader } from "../../toy-states.ts";

const countTokens = ({ text }: Passage): number => text.split(" ").length;
const PASSAGES = makePassages(3000);

for (const bits of [undefined, 2, 8] as const)
  test(`a forecast is close to the built index: ${bits ?? 32} bits`, async () => {
    await using directory = await temporary();
    const options: ForecastOptions = {
      directory: directory.path,
      header,
      bits,
      countTokens,
      cutTokens: () => 0,
    };
    const forecast = await forecastBuild(PASSAGES, options);
    await build(directory.path, PASSAGES, { bits });
    const { passages, tokens, bytes } = await indexInfo(directory.path);
    assert.is(forecast.passages, passages);
    assert.ok(
      Math.abs(forecast.tokens / tokens - 1) < 0.1,
      `${forecast.tokens} for ${tokens} tokens`,
    );
    assert.ok(Math.abs(forecast.bytes / bytes - 1) < 0.2, `${forecast.bytes} for ${bytes} bytes`);
    assert.is(forecast.peakBytes > forecast.bytes, bits !== undefined);
  });

test("a forecast says memory and time, of a few passages that it encodes", async () => {
  await using directory = await temporary();
  const encoded: number[] = [];
  const encode = async (passages: readonly Passage[]) => {
    encoded.push(passages.length);
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const options = { directory: directory.path, header, countTokens, cutTokens: () => 0, encode };
  const before = process.memoryUsage.rss();
  const plain = await forecastBuild(PASSAGES, options);
  const compressed = await forecastBuild(PASSAGES, { ...options, bits: 2 });
  assert.equal(encoded, [1, 16, 1, 16]);
  // 3,000 passages of about as many tokens as the 16 that take 20 ms or more
  assert.ok(plain.seconds > (0.5 * 0.019 * 3_000) / 16, `${plain.seconds}`);
  assert.ok(compressed.seconds > plain.seconds / 100);
  assert.ok(plain.memoryBytes > before / 2 + 24 * 3_000, `${plain.memoryBytes}`);
  assert.ok(compressed.memoryBytes > plain.memoryBytes / 2 + 2 ** 21 * header.dimension);
  assert.is((await forecastBuild([], { ...options, bits: 2 })).seconds, 0);
});

test("a forecast counts states", async () => {
  await using directory = await temporary();
  const options: ForecastOptions = {
    ...{ directory: directory.path, header: statesHeader, bits: 4, countTokens },
    countStates: (passage) => countTokens(passage) + 1,
    cutTokens: () => 0,
  };
  const forecast = await forecastBuild(PASSAGES, options);
  const without = await forecastBuild(PASSAGES, { ...options, header });
  await build(directory.path, PASSAGES, { ...options, encode: addingStates() });
  const { bytes, states } = await indexInfo(directory.path);
  assert.ok(Math.abs(forecast.bytes / bytes - 1) < 0.2, `${forecast.bytes} for ${bytes} bytes`);
  assert.is(states!.bytesPerToken, 14);
  const ofStates = states!.tokens * states!.bytesPerToken + 8 * PASSAGES.length;
  assert.ok(Math.abs((forecast.bytes - without.bytes) / ofStates - 1) < 0.05);
  assert.ok(forecast.peakBytes - without.peakBytes > 1.9 * ofStates); // both stages have them
});

test("shards cover all passages", async () => {
  await using directory = await temporary();
  const counts = [];
  for (const index of [0, 1, 2, 3]) {
    const shard = { index, count: 4 };
    const forecast = await forecastBuild(PASSAGES, {
      directory: directory.path,
      header,
      shard,
      cutTokens: () => 0,
      countTokens,
    });
    counts.push(forecast.passages);
  }
  assert.equal(counts, [1024, 952, 512, 512]); // windows of 512, assigned in turn
});

test("rejects a build that does not fit on the disk, before it writes", async () => {
  await using directory = await temporary();
  await mkdir(join(directory.path, "disk"));
  await rejects(
    forecastBuild(PASSAGES, {
      directory: join(directory.path, "disk", "not", "there yet"),
      header: { ...header, dimension: 1e9 },
      cutTokens: () => 0,
      countTokens,
    }),
    /there yet: expected about [\d.]+ TB of disk for 3000 passages, got [\d.]+ [kMGT]B; free some space/,
  );
});

test("bytes are written with three digits", () => {
  for (const [bytes, text] of [
    [0, "0 bytes"],
    [999, "999 bytes"],
    [1000, "1.00 kB"],
    [21_500_000, "21.5 MB"],
    [999_999, "1.00 MB"],
    [37e9, "37.0 GB"],
  ] as const)
    assert.is(formatBytes(bytes), text);
});

test.run();
