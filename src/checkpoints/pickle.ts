/**
 * Reads pickles (protocol 2) without running code from them.
 *
 * A pickle is a program for a stack machine. Its opcode GLOBAL imports a Python object and REDUCE
 * calls it, so a pickle can run any code. This reader looks names up in a table of the caller. It
 * rejects a pickle with any other name, and a call runs the function in the table. Tuples and lists
 * become arrays, dicts become Maps.
 *
 * Format: CPython, Lib/pickletools.py, which documents every opcode.
 */

import { isUtf8 } from "node:buffer";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";

/** A Python object that a pickle may use. */
export interface PickleGlobal {
  /** `module.name` in Python. */
  readonly name: string;
  /** The result of a call. If absent, the pickle may name the object but not call it. */
  readonly call?: (args: readonly unknown[]) => unknown;
}

export interface PickleRules {
  /** The file, for error messages. */
  readonly where: string;
  /** By `module.name`. */
  readonly globals: ReadonlyMap<string, PickleGlobal>;
  /** Resolves a persistent id: a reference to data outside the pickle. */
  readonly persistent: (id: unknown) => unknown;
}

interface Machine extends PickleRules {
  readonly bytes: Buffer;
  position: number;
  readonly stack: unknown[];
  /** Stack heights at the open MARKs. */
  readonly marks: number[];
  readonly memo: Map<number, unknown>;
}

/** @throws {InputError} if the pickle is damaged or requests anything outside the rules. */
export function unpickle(bytes: Buffer, rules: PickleRules): unknown {
  const machine: Machine = { ...rules, bytes, position: 0, stack: [], marks: [], memo: new Map() };
  for (let count = 1; ; count++) {
    const opcode = take(machine, 1)[0]!;
    if (opcode === STOP) return pop(machine);
    if (count > MAX_OPCODES) throw tooManyOpcodes(machine.where);
    const run = OPCODES.get(opcode);
    if (run === undefined)
      throw rejectedRequest(
        machine.where,
        `opcode ${CODE_OPCODES.get(opcode) ?? `0x${opcode.toString(16)}`}`,
      );
    run(machine);
  }
}

/** The error for a request that a file of weights does not need. */
export function rejectedRequest(where: string, request: string): InputError {
  return new InputError({
    where,
    expected: "a pickle of tensors and nothing else",
    got: `a request for ${request}`,
    remedy: "nothing of it was run; save the model's state dict alone, as safetensors if you can",
  });
}

const PROTOCOL = 2; // what torch.save writes
/** Each opcode creates one object at most. A checkpoint of 1,000 tensors has 40,000 opcodes. */
const MAX_OPCODES = 1_000_000;
const STOP = 0x2e;

const OPCODES: ReadonlyMap<number, (machine: Machine) => void> = new Map([
  [0x80, checkProtocol], // PROTO
  [0x28, (m) => m.marks.push(m.stack.length)], // MARK
  [0x4e, (m) => m.stack.push(null)], // NONE
  [0x88, (m) => m.stack.push(true)], // NEWTRUE
  [0x89, (m) => m.stack.push(false)], // NEWFALSE
  [0x4a, (m) => m.stack.push(take(m, 4).readInt32LE())], // BININT
  [0x4b, (m) => m.stack.push(take(m, 1).readUInt8())], // BININT1
  [0x4d, (m) => m.stack.push(take(m, 2).readUInt16LE())], // BININT2
  [0x8a, (m) => m.stack.push(twosComplement(take(m, take(m, 1).readUInt8())))], // LONG1
  [0x47, (m) => m.stack.push(take(m, 8).readDoubleBE())], // BINFLOAT
  [0x58, (m) => m.stack.push(utf8(m, take(m, take(m, 4).readUInt32LE())))], // BINUNICODE
  [0x29, (m) => m.stack.push([])], // EMPTY_TUPLE
  [0x85, (m) => m.stack.push([pop(m)])], // TUPLE1
  [0x86, (m) => m.stack.push([pop(m), pop(m)].reverse())], // TUPLE2
  [0x87, (m) => m.stack.push([pop(m), pop(m), pop(m)].reverse())], // TUPLE3
  [0x74, (m) => m.stack.push(popMark(m))], // TUPLE
  [0x5d, (m) => m.stack.push([])], // EMPTY_LIST
  [0x61, (m) => append(m, [pop(m)])], // APPEND
  [0x65, (m) => append(m, popMark(m))], // APPENDS
  [0x7d, (m) => m.stack.push(new Map())], // EMPTY_DICT
  [0x73, (m) => setItems(m, [pop(m), pop(m)].reverse())], // SETITEM
  [0x75, (m) => setItems(m, popMark(m))], // SETITEMS
  [0x71, (m) => m.memo.set(take(m, 1).readUInt8(), top(m))], // BINPUT
  [0x72, (m) => m.memo.set(take(m, 4).readUInt32LE(), top(m))], // LONG_BINPUT
  [0x68, (m) => m.stack.push(recall(m, take(m, 1).readUInt8()))], // BINGET
  [0x6a, (m) => m.stack.push(recall(m, take(m, 4).readUInt32LE()))], // LONG_BINGET
  [0x63, (m) => m.stack.push(findGlobal(m))], // GLOBAL
  [0x51, (m) => m.stack.push(m.persistent(pop(m)))], // BINPERSID
  [0x52, reduce], // REDUCE
  [0x62, build], // BUILD
]);

/** Unsupported opcodes that can run code, for error messages. */
const CODE_OPCODES: ReadonlyMap<number, string> = new Map([
  [0x69, "INST"],
  [0x6f, "OBJ"],
  [0x81, "NEWOBJ"],
  [0x82, "EXT1"],
  [0x83, "EXT2"],
  [0x84, "EXT4"],
  [0x92, "NEWOBJ_EX"],
  [0x93, "STACK_GLOBAL"],
]);

function tooManyOpcodes(where: string): InputError {
  return new InputError({
    where,
    expected: `a pickle of at most ${MAX_OPCODES} opcodes`,
    got: "more",
    remedy: "the file is damaged or contains other objects than tensors",
  });
}

function checkProtocol(machine: Machine): void {
  const protocol = take(machine, 1).readUInt8();
  if (protocol === PROTOCOL) return;
  throw new InputError({
    where: machine.where,
    expected: `pickle protocol ${PROTOCOL}`,
    got: `${protocol}`,
    remedy: "save with torch.save and its default protocol",
  });
}

function findGlobal(machine: Machine): PickleGlobal {
  const name = `${takeLine(machine)}.${takeLine(machine)}`;
  const found = machine.globals.get(name);
  if (found === undefined) throw rejectedRequest(machine.where, excerpt(name));
  return found;
}

function reduce(machine: Machine): void {
  const args = pop(machine);
  const callee = pop(machine) as PickleGlobal | undefined;
  const isGlobal = callee !== undefined && machine.globals.get(callee?.name) === callee;
  if (!isGlobal || callee.call === undefined || !Array.isArray(args)) {
    throw rejectedRequest(machine.where, `a call of ${excerpt(callee)}`);
  }
  machine.stack.push(callee.call(args));
}

/**
 * BUILD sets attributes of an object. In a state dict it sets only `_metadata`, which has no
 * weights.
 */
function build(machine: Machine): void {
  const state = pop(machine);
  const target = top(machine);
  if (!(target instanceof Map && state instanceof Map))
    throw rejectedRequest(machine.where, `BUILD of ${excerpt(target)}`);
}

function append(machine: Machine, items: readonly unknown[]): void {
  const list = top(machine);
  if (!Array.isArray(list)) throw damaged(machine, "a list to append to");
  for (const item of items) list.push(item);
}

function setItems(machine: Machine, keysAndValues: readonly unknown[]): void {
  const dict = top(machine);
  if (!(dict instanceof Map) || keysAndValues.length % 2 !== 0)
    throw damaged(machine, "a dict and pairs to set");
  for (let i = 0; i < keysAndValues.length; i += 2)
    dict.set(keysAndValues[i], keysAndValues[i + 1]);
}

function recall(machine: Machine, slot: number): unknown {
  if (!machine.memo.has(slot)) throw damaged(machine, `something in memo ${slot}`);
  return machine.memo.get(slot);
}

function top(machine: Machine): unknown {
  if (machine.stack.length === 0) throw damaged(machine, "something on the stack");
  return machine.stack.at(-1);
}

function pop(machine: Machine): unknown {
  if (machine.stack.length <= (machine.marks.at(-1) ?? 0))
    throw damaged(machine, "something on the stack");
  return machine.stack.pop();
}

function popMark(machine: Machine): unknown[] {
  const mark = machine.marks.pop();
  if (mark === undefined) throw damaged(machine, "a mark on the stack");
  return machine.stack.splice(mark);
}

function take(machine: Machine, length: number): Buffer {
  const end = machine.position + length;
  if (end > machine.bytes.length) throw damaged(machine, `${length} bytes more`);
  const bytes = machine.bytes.subarray(machine.position, end);
  machine.position = end;
  return bytes;
}

function takeLine(machine: Machine): string {
  const end = machine.bytes.indexOf("\n", machine.position);
  if (end === -1) throw damaged(machine, "a line");
  const line = utf8(machine, take(machine, end - machine.position));
  machine.position++;
  return line;
}

function utf8(machine: Machine, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw damaged(machine, "UTF-8");
  return bytes.toString();
}

/** A little-endian integer. Inexact above 2 ** 53; isCount rejects such values. */
function twosComplement(bytes: Buffer): number {
  const unsigned = bytes.reduceRight((number, byte) => number * 256n + BigInt(byte), 0n);
  return Number(BigInt.asIntN(8 * bytes.length, unsigned));
}

function damaged(
  { where, position }: Pick<Machine, "where" | "position">,
  expected: string,
): InputError {
  return new InputError({
    where,
    expected: `${expected} at byte ${position} of the pickle`,
    got: "none",
    remedy: "the file is damaged, download it again",
  });
}
