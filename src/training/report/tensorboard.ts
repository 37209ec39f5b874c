/**
 * Writes event files of TensorBoard.
 *
 * Format: TFRecord framing (https://www.tensorflow.org/tutorials/load_data/tfrecord) of `Event`
 * messages
 * (https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto).
 */

import { hostname } from "node:os";
import { join } from "node:path";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type AppendFile, openAppendFile } from "../../io/append-file.ts";
import { crc32c } from "./crc32c.ts";

/** Field numbers of `Event`, `SessionLog`, `Summary` and `Summary.Value`. */
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const SESSION_LOG = { status: 1 } as const;
const SUMMARY = { value: 1 } as const;
const VALUE = { tag: 1, simpleValue: 2 } as const;
const SESSION_START = 1;
// TFRecord masks checksums, since data may contain checksums themselves
const CRC_MASK = 0xa282ead8;

export interface TensorBoardWriter extends AsyncDisposable {
  /** Adds values by tag (`train/nll`) for a step. The format stores float32. */
  scalars(step: number, values: Readonly<Record<string, number>>): Promise<void>;
}

/**
 * Creates an event file in an existing directory. TensorBoard shows the files of a directory as one
 * run. If the run was resumed after step `resumedAt`, TensorBoard discards the later steps of the
 * earlier files.
 *
 * @throws {InputError} if the file cannot be written.
 */
export async function openTensorBoard(
  directory: string,
  resumedAt?: number,
): Promise<TensorBoardWriter> {
  const name = `events.out.tfevents.${Math.floor(Date.now() / 1000)}.${hostname()}.${process.pid}`;
  const file = await openAppendFile(join(directory, name));
  await appendEvent(file, (event) =>
    event.tag(EVENT.fileVersion, WireType.LengthDelimited).string("brain.Event:2"),
  );
  if (resumedAt !== undefined) {
    await appendEvent(file, (event) => {
      event.tag(EVENT.step, WireType.Varint).int64(resumedAt + 1); // the first discarded step
      event.tag(EVENT.sessionLog, WireType.LengthDelimited).fork();
      event.tag(SESSION_LOG.status, WireType.Varint).int32(SESSION_START).join();
    });
  }
  return {
    scalars: (step, values) =>
      appendEvent(file, (event) => {
        event.tag(EVENT.step, WireType.Varint).int64(step);
        event.tag(EVENT.summary, WireType.LengthDelimited).fork();
        for (const [tag, value] of Object.entries(values)) {
          event.tag(SUMMARY.value, WireType.LengthDelimited).fork();
          event.tag(VALUE.tag, WireType.LengthDelimited).string(tag);
          event.tag(VALUE.simpleValue, WireType.Bit32).float(value).join();
        }
        event.join();
      }),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

async function appendEvent(file: AppendFile, write: (event: BinaryWriter) => void): Promise<void> {
  const event = new BinaryWriter().tag(EVENT.wallTime, WireType.Bit64).double(Date.now() / 1000);
  write(event);
  await file.append(frame(event.finish()));
}

/** A TFRecord: length, checksum of the length, data, checksum of the data; little-endian. */
function frame(data: Uint8Array): Uint8Array {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedCrc(length), data, maskedCrc(data)]);
}

function maskedCrc(data: Uint8Array): Buffer {
  const crc = crc32c(data);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE((((crc >>> 15) | (crc << 17)) + CRC_MASK) >>> 0);
  return bytes;
}
