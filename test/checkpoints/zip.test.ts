import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readZipDirectory } from "../../src/checkpoints/zip.ts";
import { openInputFile } from "../../src/io/input-file.ts";
import { refused, temporaryFolder, zipBytes } from "./support.ts";

const file = join(temporaryFolder(), "archive.zip");
const ENTRIES = {
  "a/one": Buffer.from("1"),
  "a/two": Buffer.from("22"),
  "a/none": Buffer.alloc(0),
};

/** The contents of all entries. */
async function readAll(): Promise<Record<string, string>> {
  const archive = await openInputFile(file);
  try {
    const contents: Record<string, string> = {};
    for (const [name, entry] of await readZipDirectory(archive)) {
      contents[name] = (await archive.read(await entry.findData(), entry.size)).toString();
    }
    return contents;
  } finally {
    await archive[Symbol.asyncDispose]();
  }
}

function readBytes(bytes: Uint8Array): Promise<Record<string, string>> {
  writeFileSync(file, bytes);
  return readAll();
}

test("entries are found, also before a comment", async () => {
  const contents = { "a/one": "1", "a/two": "22", "a/none": "" };
  const bytes = zipBytes(ENTRIES);
  assert.equal(await readBytes(bytes), contents);
  bytes.writeUInt16LE(8, bytes.length - 2);
  assert.equal(await readBytes(Buffer.concat([bytes, Buffer.from("comment.")])), contents);
});

test("compressed and encrypted entries and repeated names are rejected", async () => {
  await refused(
    readBytes(zipBytes(ENTRIES, 8)),
    /expected a\/one stored as it is, got it compressed/,
  );
  await refused(readBytes(zipBytes(ENTRIES, 8, 1)), /expected a\/one stored as it is/);
  await refused(readBytes(zipBytes(ENTRIES, 0, 1)), /expected a whole zip archive, got .*mismatch/);
  const twice = zipBytes({ "a/one": Buffer.from("1"), "b/one": Buffer.from("1") });
  twice.write("a", twice.lastIndexOf("b/one"));
  await refused(readBytes(twice), /expected one entry a name, got two of a\/one/);
});

test("a directory or an entry outside the file is rejected", async () => {
  const bytes = zipBytes(ENTRIES);
  const falsified = (value: number, ...positions: number[]) => {
    const copy = Buffer.from(bytes);
    for (const at of positions) copy.writeUInt32LE(value, at);
    return readBytes(copy);
  };
  const end = bytes.length - 22;
  const directory = bytes.readUInt32LE(end + 16);
  const [packedSize, size, position] = [20, 24, 42].map((at) => directory + at) as [
    number,
    number,
    number,
  ];
  await refused(falsified(2 ** 31, end + 16), /expected at least \d+ bytes/);
  await refused(falsified(directory + 1, end + 16), /got invalid central directory file header/);
  await refused(falsified(0xffffffff, end + 16), /expected at least \d+ bytes/);
  await refused(falsified(0xffffffff, end + 8), /got invalid central directory|at least/);
  await refused(falsified(2 ** 31, size), /got .*size mismatch/);
  await refused(falsified(2 ** 31, packedSize, size), /expected 2147483648 bytes of a\/one, got/);
  await refused(falsified(0xffffffff, size), /got .*size mismatch/);
  await refused(falsified(2 ** 31, position), /expected 1 bytes of a\/one, got fewer/);
  await refused(falsified(1, position), /got invalid local file header signature/);
});

test("a directory that would fill the memory is rejected", async () => {
  const name = "x".repeat(65_000);
  const entries = Array.from({ length: 400 }, (_, i) => [`${name}${i}`, Buffer.alloc(0)]);
  await refused(
    readBytes(zipBytes(Object.fromEntries(entries))),
    /expected a directory of at most 1000000 bytes/,
  );
});

/** Appends an archive of one entry above 4 GiB, whose sizes and positions need zip64 records. */
function writeZip64(position: number, data: Buffer): void {
  const name = Buffer.from("a/far");
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(26), name, data]);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46 + name.length + 8 + 28);
  entry.write("PK\x01\x02");
  for (const at of [20, 24, 42]) entry.writeUInt32LE(0xffffffff, at);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt16LE(8 + 28, 30);
  name.copy(entry, 46);
  const extra = entry.subarray(46 + name.length);
  extra.writeUInt16LE(0x4b42, 0); // a field of another kind before the one of zip64
  extra.writeUInt16LE(4, 2);
  extra.writeUInt16LE(1, 8);
  extra.writeUInt16LE(24, 10);
  [data.length, data.length, position].forEach((number, i) => {
    extra.writeBigUInt64LE(BigInt(number), 12 + 8 * i);
  });
  const end64 = Buffer.alloc(56);
  end64.write("PK\x06\x06");
  end64.writeBigUInt64LE(1n, 32);
  end64.writeBigUInt64LE(BigInt(entry.length), 40);
  end64.writeBigUInt64LE(BigInt(position + local.length), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07");
  locator.writeBigUInt64LE(BigInt(position + local.length + entry.length), 8);
  const end = Buffer.alloc(22, 0xff);
  end.write("PK\x05\x06");
  end.writeUInt16LE(0, 20);
  writeFileSync(file, Buffer.concat([local, entry, end64, locator, end]), { flag: "a" });
}

test("zip64: an entry above 4 GiB is read by position", async () => {
  const position = 5 * 2 ** 30 + 3;
  writeFileSync(file, "");
  try {
    truncateSync(file, position); // sparse: takes no room
    writeZip64(position, Buffer.from("far"));
  } catch (error) {
    console.log(`skipped: no sparse file of 5 GiB can be made here (${(error as Error).message})`);
    return;
  }
  assert.equal(await readAll(), { "a/far": "far" });
  writeFileSync(file, "");
});

test.run();
