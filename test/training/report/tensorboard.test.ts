import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { crc32c } from "../../../src/training/report/crc32c.ts";
import { openTensorBoard } from "../../../src/training/report/tensorboard.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

type Message = Map<number, (bigint | Buffer)[]>;

/** Decodes protobuf: varints as bigint, other wire types as bytes. */
function decode(data: Buffer): Message {
  const fields: Message = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(data[at++]!);
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return data.subarray(at - length, at);
  };
  while (at < data.length) {
    const key = Number(varint());
    const value = {
      0: varint,
      1: () => take(8),
      2: () => take(Number(varint())),
      5: () => take(4),
    }[key & 7]!();
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}

/** The records of a TFRecord file. Unmasks checksums as crc32c.h of TensorFlow does. */
function records(file: Buffer): Message[] {
  const found: Message[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(file.readBigUInt64LE(at));
    const checked = (start: number, end: number) => {
      const rotated = (file.readUInt32LE(end) - 0xa282ead8) >>> 0;
      assert.is(((rotated >>> 17) | (rotated << 15)) >>> 0, crc32c(file.subarray(start, end)));
      return file.subarray(start, end);
    };
    checked(at, at + 8);
    found.push(decode(checked(at + 12, at + 12 + length)));
    at += 12 + length + 4;
  }
  return found;
}

const one = (message: Message, field: number): Buffer => message.get(field)![0] as Buffer;

async function written(folder: string, resumedAt?: number): Promise<Buffer> {
  mkdirSync(folder);
  {
    await using board = await openTensorBoard(folder, resumedAt);
    await board.scalars(3, { "train/nll": 1.5, "dev/R@1 é": -0.1 });
    await board.scalars(2 ** 33, {});
  }
  const [name] = readdirSync(folder);
  assert.match(name!, /^events\.out\.tfevents\.\d{10}\./);
  return readFileSync(join(folder, name!));
}

const folder = temporaryFolder();

test("events are framed and encoded as TensorBoard reads them", async () => {
  const before = Date.now() / 1000;
  const file = await written(join(folder, "new"));
  // Every event file of TensorFlow begins so: 24 bytes follow, the masked checksum of that, a
  // double as field 1.
  assert.is(file.subarray(0, 13).toString("hex"), "1800000000000000a37f4b2209");
  const [version, scalars, empty, ...rest] = records(file);
  assert.is(rest.length, 0);
  assert.is(one(version!, 3).toString(), "brain.Event:2");
  for (const event of [version!, scalars!, empty!]) {
    const time = one(event, 1).readDoubleLE();
    assert.ok(time >= before - 0.001 && time <= Date.now() / 1000);
  }
  assert.equal(scalars!.get(2), [3n]);
  const values = decode(one(scalars!, 5))
    .get(1)!
    .map((value) => decode(value as Buffer));
  assert.equal(
    values.map((value) => [one(value, 1).toString(), one(value, 2).readFloatLE()]),
    [
      ["train/nll", 1.5],
      ["dev/R@1 é", Math.fround(-0.1)],
    ],
  );
  assert.equal(empty!.get(2), [2n ** 33n]);
});

test("a resumed run marks the first step that TensorBoard discards", async () => {
  const [version, start, scalars] = records(await written(join(folder, "resumed"), 2));
  assert.is(one(version!, 3).toString(), "brain.Event:2");
  assert.equal(start!.get(2), [3n]);
  assert.equal(decode(one(start!, 7)).get(1), [1n]); // SessionLog.START
  assert.equal(scalars!.get(2), [3n]);
});

test("errors of the system are reported", async () => {
  await refused(
    openTensorBoard(join(folder, "missing")),
    /expected to be able to write, got ENOENT/,
  );
});

test.run();
