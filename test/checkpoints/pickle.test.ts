import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type PickleGlobal, unpickle } from "../../src/checkpoints/pickle.ts";
import { acceptedOrRefused, refused } from "./support.ts";

const calls: unknown[] = [];
const GLOBALS: PickleGlobal[] = [
  { name: "m.dict", call: () => new Map() },
  { name: "m.record", call: (args) => calls.push(args) },
  { name: "m.named" },
];

/** The value of a pickle. Its text has one character a byte and no opcode PROTO. */
async function load(text: string): Promise<unknown> {
  return unpickle(Buffer.from(`\x80\x02${text}`, "latin1"), {
    where: "test",
    globals: new Map(GLOBALS.map((global) => [global.name, global])),
    persistent: (id) => ({ id }),
  });
}

test("values as Python's pickle.dumps(value, 2) writes them", async () => {
  const written: [pickle: string, value: unknown][] = [
    ["N.", null],
    ["\x88.", true],
    ["\x89.", false],
    ["K\xff.", 255],
    ["M\x01\x02.", 513],
    ["J\xfe\xff\xff\xff.", -2],
    ["\x8a\x05\x00\x00\x00\x00\x01.", 2 ** 32],
    ["\x8a\x07\x00\x00\x00\x00\x00\x00 .", 2 ** 53],
    ["\x8a\x06\x00\x00\x00\x00\x00\xff.", -(2 ** 40)],
    ["\x8a\x00.", 0],
    ["G?\xf8\x00\x00\x00\x00\x00\x00.", 1.5],
    ["X\x03\x00\x00\x00a\xc3\xa9.", "aé"],
    [").", []],
    ["K\x01\x85.", [1]],
    ["K\x01K\x02\x86.", [1, 2]],
    ["K\x01K\x02K\x03\x87.", [1, 2, 3]],
    ["(K\x01K\x02K\x03K\x04t.", [1, 2, 3, 4]],
    ["]K\x01a.", [1]],
    ["](K\x01K\x02e.", [1, 2]],
    ["](]q\x00K\x01ah\x00e.", [[1], [1]]],
    ["](]r\x00\x01\x00\x00K\x01aj\x00\x01\x00\x00e.", [[1], [1]]],
    ["}X\x01\x00\x00\x00aK\x01s.", new Map([["a", 1]])],
    ["}(X\x01\x00\x00\x00aK\x01K\x02K\x03u.", new Map<unknown, number>().set("a", 1).set(2, 3)],
    ["K\x07Q.", { id: 7 }],
    ["cm\ndict\n)R}K\x01K\x02sb.", new Map()], // attributes of a dict are dropped
  ];
  for (const [pickle, value] of written)
    assert.equal(await load(pickle), value, JSON.stringify(pickle));
});

test("a name outside the table and a call of an uncallable name are rejected", async () => {
  const check = (pickle: string, request: RegExp) => refused(load(pickle), request);
  await check(
    "cposix\nsystem\n(X\x02\0\0\0lstR.",
    /^test: .* got a request for 'posix\.system'; nothing of it was run/,
  );
  await check("c__builtin__\neval\n.", /a request for '__builtin__\.eval'/);
  await check("c__proto__\nconstructor\n.", /a request for '__proto__\.constructor'/);
  await check("ca\x1b[2J\nb\n.", /a request for 'a\\x1B\[2J\.b'/);
  await check("cm\nnamed\n)R.", /a request for a call of \{ name: 'm\.named' \}/);
  await check("X\x08\0\0\0m.record)R.", /a request for a call of 'm\.record'/);
  await check("N)R.", /a request for a call of null/);
  await check("cm\nrecord\nNR.", /a request for a call of/);
  await check("]}b.", /a request for BUILD of \[\]/);
  await check("cm\nnamed\n}b.", /a request for BUILD of/);
  await check("(ios\nsystem\n.", /a request for opcode INST/);
  await check("(cm\nrecord\no.", /a request for opcode OBJ/);
  await check("cm\nrecord\n)\x81.", /a request for opcode NEWOBJ/);
  await check("\x82\x01.", /a request for opcode EXT1/);
  await check("X\x01\0\0\0mX\x06\0\0\0record\x93.", /a request for opcode STACK_GLOBAL/);
  await check("S'a'\n.", /a request for opcode 0x53/);
  assert.equal(calls, []);
});

test("a damaged pickle is rejected", async () => {
  const check = (pickle: string, message: RegExp) => refused(load(pickle), message);
  await check("", /expected 1 bytes more at byte 2 of the pickle/);
  await check("N", /expected 1 bytes more/);
  await check(".", /expected something on the stack/);
  await check("(\x85.", /expected something on the stack/);
  await check("q\x00.", /expected something on the stack/);
  await check("t.", /expected a mark on the stack/);
  await check("h\x00.", /expected something in memo 0/);
  await check("X\xff\xff\xff\xffa.", /expected 4294967295 bytes more/);
  await check("X\x01\0\0\0\xff.", /expected UTF-8/);
  await check("cm.", /expected a line/);
  await check("NK\x01a.", /expected a list to append to/);
  await check("NK\x01K\x02s.", /expected a dict and pairs to set/);
  await check("}(K\x01u.", /expected a dict and pairs to set/);
  await check("\x80\x03N.", /expected pickle protocol 2, got 3/);
});

test("a pickle that builds millions of objects is rejected before it uses the memory", async () => {
  for (const opcodes of ["}", "]", ")", "cm\ndict\n)R", "]\x85", "N", "(", "]q\x00"])
    await refused(load(opcodes.repeat(1_000_001)), /expected a pickle of at most 1000000 opcodes/);
  assert.ok(process.memoryUsage().rss < 1.5e9);
});

test("any bytes are read or rejected, and call only functions of the table", async () => {
  const opcodes = [..."\x80(N\x88\x89JKM\x8aGX)\x85\x86\x87t]ae}suqrhjcQRb.io\x81\x82\x93"];
  const piece = fc.oneof(
    fc.constantFrom(...opcodes),
    fc.constantFrom(
      "K\x01",
      "X\x01\0\0\0a",
      "cm\ndict\n",
      "cm\nnamed\n",
      "cos\nsystem\n",
      "q\x01",
      "h\x01",
      ".",
    ),
    fc.nat(255).map((byte) => String.fromCharCode(byte)),
  );
  const property = fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
    await acceptedOrRefused(load(pieces.join("")));
  });
  await fc.assert(property, { numRuns: 5_000 });
});

test.run();
