/**
 * Finds a passage in each of 20 languages and 11 scripts by words, by the model and by both, and
 * reads it. The model knows English: the table shows what it can do with other scripts.
 *
 *     npx tsx benchmarks/languages.ts [--model DIR]
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLexicalIndex, ReAtt } from "../src/index.ts";

/** A passage, a question about it, and its answer. */
const TEXTS: Readonly<Record<string, readonly [text: string, question: string, answer: string]>> = {
  English: ["The old lighthouse was built by Anna Lee.", "Who built the lighthouse?", "Anna Lee"],
  German: ["Die Brücken der Stadt baute Karl Weber.", "Wer baute die Brücke?", "Karl Weber"],
  French: [
    "Les jardins du château ont été dessinés par Paul Morel.",
    "Qui dessina le jardin ?",
    "Paul Morel",
  ],
  Spanish: [
    "Los molinos del pueblo fueron pintados por Rosa Gil.",
    "¿Quién pintó el molino?",
    "Rosa Gil",
  ],
  Italian: [
    "Le fontane della piazza furono scolpite da Luca Neri.",
    "Chi scolpì la fontana?",
    "Luca Neri",
  ],
  Portuguese: [
    "As canções da ilha foram escritas por Inês Costa.",
    "Quem escreveu a canção?",
    "Inês Costa",
  ],
  Dutch: [
    "De schepen in de haven werden verkocht door Jan de Boer.",
    "Wie verkocht het schip?",
    "Jan de Boer",
  ],
  Swedish: ["Klockorna i tornet lagades av Sven Ek.", "Vem lagade klockan?", "Sven Ek"],
  Turkish: ["Köydeki evleri İsmail Yıldız onardı.", "Evi kim onardı?", "İsmail Yıldız"],
  Russian: ["Картины музея написал Иван Орлов.", "Кто написал картину?", "Иван Орлов"],
  Ukrainian: ["Школу в селі збудувала Олена Коваль.", "Хто збудував школу?", "Олена Коваль"],
  Greek: [
    "Τα βιβλία της πόλης τα έγραψε η Μαρία Λάμπρου.",
    "Ποιος έγραψε το βιβλίο;",
    "Μαρία Λάμπρου",
  ],
  Arabic: ["كتب القصيدة الشاعر سامي حداد في بيروت.", "من كتب القصيدة؟", "سامي حداد"],
  Hebrew: ["את השיר כתבה המשוררת דנה לוי בחיפה.", "מי כתבה את השיר?", "דנה לוי"],
  Hindi: ["इस मंदिर को राजा मोहन सिंह ने बनवाया था।", "मंदिर किसने बनवाया?", "मोहन सिंह"],
  Tamil: ["இந்த நூலை கவிஞர் மணி எழுதினார்.", "நூலை யார் எழுதினார்?", "மணி"],
  Thai: ["สะพานนี้สร้างโดยวิศวกรสมชาย ใจดี", "ใครสร้างสะพาน", "สมชาย ใจดี"],
  Chinese: ["这座图书馆由建筑师王小明设计。", "谁设计了图书馆？", "王小明"],
  Japanese: ["この橋は田中一郎が設計した。", "橋を設計したのは誰ですか", "田中一郎"],
  Korean: ["이 다리는 김민수가 설계했다.", "이 다리는 누가 설계했나?", "김민수"],
};

const { values } = parseArgs({
  options: { model: { type: "string", default: "models/reatt-mini" } },
});
const folder = await mkdtemp(join(tmpdir(), "reatt-languages-"));
await using model = await ReAtt.load(values.model);
const passages = Object.entries(TEXTS).map(([id, [text]]) => ({ id, title: "", text }));
await using index = await model.index(passages, { directory: join(folder, "index") });
const lexical = await openLexicalIndex(index);
const counts = { words: 0, model: 0, both: 0, answer: 0, spans: 0 };
const mark = (name: keyof typeof counts, holds: boolean): string => {
  if (holds) counts[name]++;
  return holds ? "yes" : "no";
};
process.stdout.write(
  "| language | words | model | both | answer | span equals the text |\n|---|---|---|---|---|---|\n",
);
for (const [language, [text, question, answer]] of Object.entries(TEXTS)) {
  const first = async (hybrid: boolean) =>
    (await model.retrieve(question, index, { topK: 1, hybrid }))[0]!.id === language;
  const reply = await model.read(question, [{ id: language, text }], { minimumConfidence: 0 });
  const { span } = reply.passages[0]!;
  const quoted = span && text.slice(span.start, span.end);
  const cells = [
    mark("words", lexical.search(question, { topK: 1 })[0]?.id === language),
    mark("model", await first(false)),
    mark("both", await first(true)),
    `${mark("answer", reply.answer === answer)}: ${reply.answer}`,
    mark("spans", reply.abstained || quoted === reply.answer),
  ];
  process.stdout.write(`| ${language} | ${cells.join(" | ")} |\n`);
}
const { length } = passages;
process.stdout.write(`| of ${length} | ${Object.values(counts).join(" | ")} |\n`);
await rm(folder, { recursive: true });
