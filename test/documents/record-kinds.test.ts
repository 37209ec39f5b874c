/** JSON, JSON Lines and tables: small inputs of every kind, with the exact passages. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { parseRecords } from "../../src/io/json/parse-json.ts";
import type { Passage } from "../../src/text/passage.ts";
import { assertLinear } from "../support/linear-time.ts";
import { readAll, readOne } from "./support.ts";

/** Id without the file, title, text and metadata without the fields of reatt. */
type Record = [id: string, title: string, text: string, metadata: object];

const recordsOf = (passages: readonly Passage[]): Record[] =>
  passages.map(({ id, title, text, metadata = {} }) => {
    const own = Object.entries(metadata).filter(([name]) => !/^_(source|lines|blocks)$/.test(name));
    return [id.replace(/^[^#]*#/, ""), title, text, Object.fromEntries(own)];
  });

const json = (value: unknown): string => JSON.stringify(value);
const LAMP = { page_content: "A lamp.", metadata: { source: "x.pdf", page: 3, tags: ["a"] } };
const LAMP_FIELDS = { source: "x.pdf", page: 3, tags: ["a"] };

const JSON_KINDS: Readonly<{ [what: string]: [value: unknown, records: Record[]] }> = {
  "a list": [
    [
      {
        id: 7,
        title: "T",
        text: "A lamp.",
        price: 9.5,
        draft: false,
        none: null,
        n: { m: [1, 2] },
      },
    ],
    [
      [
        "7",
        "T",
        "price: 9.5\ndraft: false\nn.m: 1\nn.m: 2\n\nA lamp.",
        { price: 9.5, draft: false, "n.m": [1, 2] },
      ],
    ],
  ],
  LangChain: [[LAMP], [["1", "", "A lamp.", LAMP_FIELDS]]],
  "LangChain.js": [
    [{ pageContent: "A lamp.", metadata: { loc: { lines: { from: 1 } } }, id: "a" }],
    [["a", "", "A lamp.", { "loc.lines.from": 1 }]],
  ],
  "LangChain, serialised": [
    [{ lc: 1, type: "constructor", id: ["langchain", "Document"], kwargs: LAMP }],
    [["1", "", "A lamp.", LAMP_FIELDS]],
  ],
  Haystack: [
    { documents: [{ id: "h", content: "A lamp.", meta: { name: "x" }, score: null }] },
    [["h", "", "A lamp.", { name: "x" }]],
  ],
  "LlamaIndex, documents": [
    [{ id_: "l", text: "A lamp.", metadata: { file_name: "x" }, class_name: "Document" }],
    [["l", "", "A lamp.", { class_name: "Document", file_name: "x" }]],
  ],
  "LlamaIndex, document store": [
    {
      "docstore/data": {
        l: { __data__: { id_: "l", text: "A lamp.", metadata: { a: 1 } }, __type__: "1" },
      },
      "docstore/metadata": {},
    },
    [["l", "", "A lamp.", { a: 1 }]],
  ],
  Pyserini: [[{ id: "d1", contents: "A lamp." }], [["d1", "", "A lamp.", {}]]],
  SQuAD: [
    {
      version: "1.1",
      data: [
        {
          title: "My_Lamp",
          paragraphs: [
            { context: "A lamp.", qas: [] },
            { context: "A chair.", qas: [] },
          ],
        },
      ],
    },
    [
      ["My Lamp 1", "My Lamp", "A lamp.", {}],
      ["My Lamp 2", "My Lamp", "A chair.", {}],
    ],
  ],
  "an answer of a service": [
    { total: 2, results: [{ text: "A lamp." }, { text: "A chair." }] },
    [
      ["1", "", "A lamp.", {}],
      ["2", "", "A chair.", {}],
    ],
  ],
  Elasticsearch: [
    {
      hits: {
        total: 1,
        hits: [{ _index: "i", _id: "e", _source: { body: "A lamp.", lang: "en" } }],
      },
    },
    [["e", "", "lang: en\n\nA lamp.", { lang: "en" }]],
  ],
  "records by id": [
    { a: { text: "A lamp." }, b: { text: "A chair." } },
    [
      ["a", "", "A lamp.", {}],
      ["b", "", "A chair.", {}],
    ],
  ],
  texts: [
    ["A lamp.", "A chair."],
    [
      ["1", "", "A lamp.", {}],
      ["2", "", "A chair.", {}],
    ],
  ],
  "a document with parts": [
    {
      title: "Guide",
      sections: [
        { heading: "Fees", text: "T1.", sections: [{ name: "Boats", content: "T2." }] },
        { title: "Times", text: "T3." },
      ],
    },
    [
      ["1", "Guide > Fees", "T1.", {}],
      ["1.1", "Guide > Fees > Boats", "T2.", {}],
      ["2", "Guide > Times", "T3.", {}],
    ],
  ],
  "a list with a description": [
    { title: "Shop", about: "All our lamps.", total: 1, items: [{ kind: "lamp" }] },
    [
      [
        "0",
        "Shop",
        "title: Shop\nabout: All our lamps.\ntotal: 1",
        { about: "All our lamps.", total: 1 },
      ],
      ["1", "Shop", "kind: lamp", { kind: "lamp" }],
    ],
  ],
  GeoJSON: [
    {
      type: "FeatureCollection",
      name: "Ports",
      features: [
        {
          type: "Feature",
          id: 3,
          geometry: { type: "Point", coordinates: [4.5, 52] },
          properties: { port: "Hoorn" },
        },
        { type: "Feature", geometry: { coordinates: [[[1, 2]]] }, properties: { port: "Edam" } },
      ],
    },
    [
      [
        "3",
        "Ports",
        "id: 3\nlongitude: 4.5\nlatitude: 52\nport: Hoorn",
        { longitude: 4.5, latitude: 52, port: "Hoorn" },
      ],
      ["2", "Ports", "port: Edam", { port: "Edam" }],
    ],
  ],
  "messages of OpenAI": [
    [
      {
        messages: [
          { role: "user", content: "When?" },
          { role: "assistant", content: [{ type: "text", text: "At noon." }] },
        ],
      },
    ],
    [["1", "", "user: When?\nassistant: At noon.", {}]],
  ],
  "ChatGPT's tree": [
    [
      {
        title: "Ferry",
        mapping: {
          b: {
            message: { author: { role: "assistant" }, content: { parts: ["Noon."] } },
            parent: "a",
          },
          a: { message: { author: { role: "user" }, content: { parts: ["When?"] } }, parent: "r" },
          r: { message: null, parent: null },
        },
      },
    ],
    [["1", "Ferry", "user: When?\nassistant: Noon.", {}]],
  ],
  Slack: [
    [
      {
        type: "message",
        user: "U1",
        ts: "1700000000.1",
        text: "A &amp; B, <@U2> <http://a.b|here>",
      },
      { type: "message", user: "U2", ts: "1700000001.1", text: "Yes" },
    ],
    [["1", "a", "U1: A & B, @U2 here\nU2: Yes", {}]],
  ],
  Telegram: [
    {
      name: "Port",
      messages: [
        { from: "Orla", date: "2024-05-01", text: ["See ", { type: "link", text: "x.y" }, "."] },
      ],
    },
    [["1", "a", "name: Port\n\n2024-05-01 Orla: See x.y.", { name: "Port" }]],
  ],
  "a configuration": [
    { name: "app", version: 2, servers: ["a", "b"] },
    [
      [
        "1",
        "a",
        "name: app\nversion: 2\nservers: a\nservers: b",
        { name: "app", version: 2, servers: ["a", "b"] },
      ],
    ],
  ],
  "a repeated id": [
    [
      { id: "a", text: "One." },
      { id: "a", text: "Two." },
      { id: "b", text: "Three." },
    ],
    [
      ["1", "", "id: a\n\nOne.", { id: "a" }],
      ["2", "", "id: a\n\nTwo.", { id: "a" }],
      ["3", "", "id: b\n\nThree.", { id: "b" }],
    ],
  ],
  "an id of another name, which is unique": [
    [
      { id: "a", docno: "x", text: "One." },
      { id: "a", docno: "y", text: "Two." },
    ],
    [
      ["x", "", "id: a\n\nOne.", { id: "a" }],
      ["y", "", "id: a\n\nTwo.", { id: "a" }],
    ],
  ],
  "lists of words beside the list of texts": [
    { name: "Soup", ingredient: ["salt", "water"], steps: [{ text: "Boil." }] },
    [
      [
        "0",
        "",
        "name: Soup\ningredient: salt\ningredient: water",
        { name: "Soup", ingredient: ["salt", "water"] },
      ],
      ["1", "Soup", "Boil.", {}],
    ],
  ],
  "a vector is no text": [
    [{ id: "a", embedding: Array(100).fill(0.5), text: "One." }],
    [["a", "", "One.", { embedding: Array(100).fill(0.5) }]],
  ],
};

/** Lines of JSON are a stream: the first of two records keeps an id, and each is a document. */
const IN_A_LIST_ONLY = ["a repeated id", "an id of another name, which is unique", "Slack"];

for (const [what, [value, expected]] of Object.entries(JSON_KINDS))
  test(`json: ${what}`, async () => {
    const { passages } = await readOne("a.json", json(value));
    assert.equal(recordsOf(passages), expected);
  });

for (const [what, [value, expected]] of Object.entries(JSON_KINDS))
  if (Array.isArray(value) && typeof value[0] === "object" && !IN_A_LIST_ONLY.includes(what))
    test(`json lines, in a folder and named alone: ${what}`, async () => {
      const lines = value.map((one) => `${json(one)}\n`).join("");
      const named = expected.map(
        ([id, ...others]): Record => [id === "1" ? "line 1" : id, ...others],
      );
      assert.equal(recordsOf((await readOne("a.jsonl", lines)).passages), named);
      const folder = await mkdtemp(join(tmpdir(), "reatt-records-"));
      await writeFile(join(folder, "a.jsonl"), lines);
      const { passages } = await readAll(join(folder, "a.jsonl"));
      await rm(folder, { recursive: true });
      assert.equal(recordsOf(passages), named);
    });

test("JSON Lines: a repeated id is a field, with a count, in a folder and named alone", async () => {
  const lines = ["a", "a", "b", "a"]
    .map((id, i) => `${json({ id, text: `Text ${i}.` })}\n`)
    .join("");
  const expected: Record[] = [
    ["a", "", "Text 0.", {}],
    ["line 2", "", "id: a\n\nText 1.", { id: "a" }],
    ["b", "", "Text 2.", {}],
    ["line 4", "", "id: a\n\nText 3.", { id: "a" }],
  ];
  const message =
    "a.jsonl: expected an id of its own for each record, got 2 that earlier records have; " +
    "these records are named by their line or number; give each an id of its own";
  const { passages, notes } = await readOne("a.jsonl", lines);
  assert.equal(recordsOf(passages), expected);
  assert.equal(notes, [message]);
  const folder = await mkdtemp(join(tmpdir(), "reatt-records-"));
  await writeFile(join(folder, "a.jsonl"), lines);
  const alone = await readAll(join(folder, "a.jsonl"));
  await rm(folder, { recursive: true });
  assert.equal(recordsOf(alone.passages), expected);
  assert.equal(
    Object.values(alone.skipped).map((one) => one.replaceAll(`${folder}/`, "")),
    [message],
  );
});

test("a column is that of the ids only if all its values differ", async () => {
  const rows = Array.from({ length: 500 }, (_, i) => `${i % 3},P${i},note ${i}\n`).join("");
  const byLine = await readOne("a.csv", `id,x,note\n${rows}`);
  assert.equal(
    recordsOf(byLine.passages).map(([id]) => id),
    Array.from({ length: 500 }, (_, i) => `line ${i + 2}`),
  );
  assert.is(byLine.passages[4]!.text, "id: 1\nx: P4\nnote: note 4");
  assert.is(byLine.passages[4]!.metadata!.id, 1);
  assert.is(byLine.notes.length, 1);
  assert.match(byLine.notes[0]!, /got 497 that earlier records have/);
  const byOther = await readOne("a.csv", `id,docno,note\n${rows}`);
  assert.is(byOther.passages[4]!.id, "a.csv#P4");
  assert.equal(byOther.notes, []);
});

test("JSON as people and programs write it", async () => {
  const text = [
    '// "list"\n[{"a": NaN, "b": -Infinity,',
    '"text": "1, // NaN ,] \\" /* */",},\n/* "x */ ]',
  ].join(" ");
  const { passages } = await readOne("a.json", text);
  assert.equal(recordsOf(passages), [["1", "", '1, // NaN ,] " /* */', {}]]);
  const lines = await readOne("a.jsonl", '{"a": 1, "b": NaN}\n{"a": 2, "b": 3}\n');
  assert.equal(
    lines.passages.map(({ text }) => text),
    ["a: 1", "a: 2\nb: 3"],
  );
});

test("relaxed JSON is read in a time that grows with its length", async () => {
  for (const part of ['"', "/*", "//", ",", ", ", "\\", '\\"', "NaN", "-"])
    await assertLinear((size) => {
      try {
        parseRecords(`[${part.repeat(size)}`, "");
      } catch {}
    }, 2 ** 15);
});

test("integers of 17 digits and more are texts in JSON", async () => {
  const lines =
    '{"id": 1234567890123456789, "text": "At noon 12345678901234567890."}\n' +
    '{"id": 1234567890123456790, "n": [-12345678901234567, 0.12345678901234567890, 1e5], "text": "\\"1"}\n';
  for (const [file, text] of [
    ["a.jsonl", lines],
    ["a.json", `[${lines.trim().replace("\n", ",")}]`],
  ] as const)
    assert.equal(recordsOf((await readOne(file, text)).passages), [
      ["1234567890123456789", "", "At noon 12345678901234567890.", {}],
      [
        "1234567890123456790",
        "",
        'n: -12345678901234567\nn: 0.12345678901234568\nn: 100000\n\n"1',
        { n: ["-12345678901234567", 0.12345678901234568, 100_000] },
      ],
    ]);
});

test("lines that are not JSON are left out with a line, in a folder and named alone", async () => {
  const [a, b] = ["a", "b"].map((id) => `${json({ id, text: `Text ${id}.` })}\n`);
  const { passages, notes } = await readOne("a.jsonl", `${a}not json\n${b}{"id": "c", "te`);
  assert.equal(
    recordsOf(passages).map(([id]) => id),
    ["a", "b"],
  );
  assert.equal(notes, [
    'a.jsonl:2: expected one JSON object, got "not json"; write one JSON object a line',
    'a.jsonl:4: expected one JSON object, got "{\\"id\\": \\"c\\", \\"te"; write one JSON object a line',
  ]);
  const none = await readOne("a.jsonl", "not json\n".repeat(20) + a).catch(String);
  assert.match(String(none), /only files that cannot be read: 1/);
  const many = await readOne("a.jsonl", a + "not json\n".repeat(20) + b);
  assert.is(many.passages.length, 2);
  assert.match(many.notes.at(-1)!, /got 10 more lines that are not JSON, which are left out/);
  assert.is(many.notes.length, 11);
});

const TABLES: Readonly<{ [what: string]: [file: string, table: string, records: Record[]] }> = {
  "fields that reatt has too stay": [
    "a.csv",
    "id,text,source,lines,page,headings\n1,A lamp.,web,3,4,x\n",
    [
      [
        "1",
        "",
        "source: web\nlines: 3\npage: 4\nheadings: x\n\nA lamp.",
        { source: "web", lines: 3, page: 4, headings: "x" },
      ],
    ],
  ],
  "types of all values": [
    "a.csv",
    'name,price,code,draft,year,tags,mixed\nLamp,9.50,007,true,2020,"[""a""]",1\nChair,12.00,123,FALSE,1999,"[""b"",""c""]",x\n',
    [
      [
        "line 2",
        "",
        'name: Lamp\nprice: 9.50\ncode: 007\ndraft: true\nyear: 2020\ntags: ["a"]\nmixed: 1',
        { name: "Lamp", price: 9.5, code: "007", draft: true, year: 2020, tags: ["a"], mixed: "1" },
      ],
      [
        "line 3",
        "",
        'name: Chair\nprice: 12.00\ncode: 123\ndraft: FALSE\nyear: 1999\ntags: ["b","c"]\nmixed: x',
        {
          name: "Chair",
          price: 12,
          code: "123",
          draft: false,
          year: 1999,
          tags: ["b", "c"],
          mixed: "x",
        },
      ],
    ],
  ],
  "decimal commas": [
    "a.csv",
    "name;price\nLamp;9,50\nCar;12.345,00\n",
    [
      ["line 2", "", "name: Lamp\nprice: 9,50", { name: "Lamp", price: 9.5 }],
      ["line 3", "", "name: Car\nprice: 12.345,00", { name: "Car", price: 12345 }],
    ],
  ],
  "numbers of many digits are names": [
    "a.csv",
    "id,text,isbn\n1,A.,9783161484100123\n",
    [["1", "", "isbn: 9783161484100123\n\nA.", { isbn: "9783161484100123" }]],
  ],
  "no head": [
    "collection.tsv",
    "0\tThe presence of communication amid scientific minds.\n1\tThe Manhattan Project and its atomic bomb.\n",
    [
      ["0", "", "The presence of communication amid scientific minds.", {}],
      ["1", "", "The Manhattan Project and its atomic bomb.", {}],
    ],
  ],
  "in doubt the first row is data": [
    "a.csv",
    "Lion,Africa\nTiger,Asia\n",
    [
      ["line 1", "", "Lion | Africa", { "column 1": "Lion", "column 2": "Africa" }],
      ["line 2", "", "Tiger | Asia", { "column 1": "Tiger", "column 2": "Asia" }],
    ],
  ],
  "sep=": ["a.csv", "sep=;\nid;text\n1;a, b\n", [["1", "", "a, b", {}]]],
  "comments and titles above the head": [
    "a.csv",
    "# made by x\nPrices of May,,\n\nid,text,n\n1,A lamp.,2\n# the end\n",
    [
      ["line 2", "", "Prices of May", {}],
      ["1", "", "n: 2\n\nA lamp.", { n: 2 }],
    ],
  ],
  "a head in a comment": ["a.tsv", "#id\ttext\n1\tA lamp.\n", [["1", "", "A lamp.", {}]]],
  "spaces before quotes": ["a.csv", 'id, "text"\n1, "a, ""b"""\n', [["1", "", 'a, "b"', {}]]],
  "a stray quote": [
    "a.csv",
    'id,text\n1,5" disk\n2,"a "b" c"\n',
    [
      ["1", "", '5" disk', {}],
      ["2", "", 'a "b" c', {}],
    ],
  ],
  bars: ["a.csv", "id|text\n1|a, b\n", [["1", "", "a, b", {}]]],
  "line breaks in cells": [
    "a.csv",
    'id,text\n1,"a\nb"\n2,c\n',
    [
      ["1", "", "a\nb", {}],
      ["2", "", "c", {}],
    ],
  ],
  "two columns of one name, and one without": [
    "a.csv",
    "id,n,n,,text\n1,a,b,c,T.\n",
    [["1", "", "n: a\nn 3: b\ncolumn 4: c\n\nT.", { n: "a", "n 3": "b", "column 4": "c" }]],
  ],
  "TSV has no quotes": [
    "a.tsv",
    'id\ttext\n1\t"Blue Heron" is a ferry.\n2\t"It leaves\n3\tat noon."\n',
    [
      ["1", "", '"Blue Heron" is a ferry.', {}],
      ["2", "", '"It leaves', {}],
      ["3", "", 'at noon."', {}],
    ],
  ],
  "cells of a TSV that Excel puts in quotes": [
    "a.tsv",
    [
      "id\ttitle\ttext",
      '1\t"Ada, the first"\t"She said ""no"" to it."',
      '2\t"Two\nlines"\t"One\ttab"',
      '3\tBob\t"Two\nmore lines"',
      '4\tEve\t"Open',
      '5"\tMallory\t"A quotation."',
      '6\tTrent\t"A, "b" c"',
      "",
    ].join("\n"),
    [
      ["1", "Ada, the first", 'She said "no" to it.', {}],
      ["2", "Two\nlines", "One\ttab", {}],
      ["3", "Bob", "Two\nmore lines", {}],
      ["4", "Eve", '"Open', {}],
      ['5"', "Mallory", '"A quotation."', {}],
      ["6", "Trent", '"A, "b" c"', {}],
    ],
  ],
  "a quote that is not closed": [
    "a.csv",
    'id,text\n1,"open\n2,"B."\n3,"5" disk, a "x" y\n4,"a ""b""\nc"\n5,"end',
    [
      ["1", "", '"open', {}],
      ["2", "", "B.", {}],
      ["3", "", 'column 3: a "x" y\n\n"5" disk', { "column 3": 'a "x" y' }],
      ["4", "", 'a "b"\nc', {}],
      ["5", "", '"end', {}],
    ],
  ],
  "quotes with a backslash": [
    "a.csv",
    'id,text\n1,"the \\"red\\", old one"\n2,"ends with \\\\"\n3,"\\"all\\""\n',
    [
      ["1", "", 'the "red", old one', {}],
      ["2", "", "ends with \\\\", {}],
      ["3", "", '"all"', {}],
    ],
  ],
  "a backslash at the end of a cell": [
    "a.csv",
    'id,text\n1,"C:\\"\n2,"D:\\"\n',
    [
      ["1", "", "C:\\", {}],
      ["2", "", "D:\\", {}],
    ],
  ],
  "no values": [
    "a.csv",
    "ship,price,draft,code\nHeron,40,true,NA\nWren,NA,-,DE\nFinch,n/a,FALSE,FR\n",
    [
      [
        "line 2",
        "",
        "ship: Heron\nprice: 40\ndraft: true\ncode: NA",
        { ship: "Heron", price: 40, draft: true, code: "NA" },
      ],
      ["line 3", "", "ship: Wren\nprice: NA\ndraft: -\ncode: DE", { ship: "Wren", code: "DE" }],
      [
        "line 4",
        "",
        "ship: Finch\nprice: n/a\ndraft: FALSE\ncode: FR",
        { ship: "Finch", draft: false, code: "FR" },
      ],
    ],
  ],
  thousands: [
    "a.csv",
    'item,count,sum\nTea,"1,200","1,200.50"\nRope,"850","3"\nLamp,"12,000","1,000,000"\n',
    [
      [
        "line 2",
        "",
        "item: Tea\ncount: 1,200\nsum: 1,200.50",
        { item: "Tea", count: 1200, sum: 1200.5 },
      ],
      ["line 3", "", "item: Rope\ncount: 850\nsum: 3", { item: "Rope", count: 850, sum: 3 }],
      [
        "line 4",
        "",
        "item: Lamp\ncount: 12,000\nsum: 1,000,000",
        { item: "Lamp", count: 12000, sum: 1e6 },
      ],
    ],
  ],
  "decimals of many digits": [
    "a.csv",
    "item,x\nTea,0.30000000000000004\nRope,2\n",
    [
      ["line 2", "", "item: Tea\nx: 0.30000000000000004", { item: "Tea", x: 0.30000000000000004 }],
      ["line 3", "", "item: Rope\nx: 2", { item: "Rope", x: 2 }],
    ],
  ],
  "two tables of a report": [
    "a.csv",
    "boat,fee\nHeron,40\n\nperson,phone\nOrla,555-1234\n",
    [
      ["line 2", "", "boat: Heron\nfee: 40", { boat: "Heron", fee: 40 }],
      ["line 5", "", "person: Orla\nphone: 555-1234", { person: "Orla", phone: "555-1234" }],
    ],
  ],
  "names above shares and dates": [
    "a.csv",
    "Boat,Share,Built\nHeron,12.5%,2001-05-01\n",
    [
      [
        "line 2",
        "",
        "Boat: Heron\nShare: 12.5%\nBuilt: 2001-05-01",
        { Boat: "Heron", Share: "12.5%", Built: "2001-05-01" },
      ],
    ],
  ],
  "empty rows between rows": [
    "a.csv",
    "boat,fee\n\nHeron,40\n\nWren,25\n",
    [
      ["line 3", "", "boat: Heron\nfee: 40", { boat: "Heron", fee: 40 }],
      ["line 5", "", "boat: Wren\nfee: 25", { boat: "Wren", fee: 25 }],
    ],
  ],
  "years below a name": [
    "a.csv",
    "Sales,,Costs,\n2023,2024,2023,2024\n10,20,30,40\n",
    [
      [
        "line 3",
        "",
        "Sales 2023: 10\nSales 2024: 20\nCosts 2023: 30\nCosts 2024: 40",
        { "Sales 2023": 10, "Sales 2024": 20, "Costs 2023": 30, "Costs 2024": 40 },
      ],
    ],
  ],
};

for (const [what, [file, table, expected]] of Object.entries(TABLES))
  test(`table: ${what}`, async () => {
    const { passages, notes } = await readOne(file, table);
    assert.equal(recordsOf(passages), expected);
    assert.equal(notes, []);
  });

test("table: an option names the head", async () => {
  const read = async (tableHeader: "yes" | "no", table: string) =>
    recordsOf((await readOne("a.csv", table, { tableHeader })).passages).map(([, , text]) => text);
  assert.equal(await read("yes", "Lion,Africa\nTiger,Asia\n"), ["Lion: Tiger\nAfrica: Asia"]);
  assert.equal(await read("no", "id,text\n1,A.\n"), ["id | text", "1 | A."]);
});

test("a folder of BEIR: only the corpus is read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-beir-"));
  await writeFile(join(folder, "corpus.jsonl"), '{"_id":"a","title":"T","text":"A lamp."}\n');
  await writeFile(join(folder, "queries.jsonl"), '{"_id":"q","text":"What?"}\n');
  const { passages, skipped } = await readAll(folder);
  await rm(folder, { recursive: true });
  assert.equal(
    passages.map(({ id }) => id),
    ["corpus.jsonl#a"],
  );
  assert.match(skipped["queries.jsonl"]!, /got questions or judgements of a data set of BEIR/);
});

test("ids of files that are named alone come from their paths", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reatt-paths-"));
  for (const name of ["a.md", "b.md"]) await writeFile(join(folder, name), "Text.\n");
  const [a, b] = await Promise.all(["a.md", "b.md"].map((name) => readAll(join(folder, name))));
  const inside = await readAll("test/documents/../documents/support.ts");
  await rm(folder, { recursive: true });
  assert.equal([a!.passages[0]!.id, b!.passages[0]!.id], [`${folder}/a.md#1`, `${folder}/b.md#1`]);
  assert.is(inside.passages[0]!.id, "test/documents/support.ts#1");
});

test.run();
