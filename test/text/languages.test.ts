/** Terms of many languages: detected, divided into words, stemmed. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../src/retrieval/bm25/bm25.ts";
import { detectLanguages, LANGUAGES, loadStemmer } from "../../src/text/languages.ts";
import { openAnalyser } from "../../src/text/terms.ts";

/** A passage, and a question with other forms of its words. */
const SAMPLES = {
  en: ["The children of the village played with the houses.", "child village house playing"],
  de: ["Die Häuser der Stadt sind alt und die Kinder spielten nicht.", "Haus Kind spielen"],
  fr: [
    "Les maisons de la ville sont anciennes et les enfants jouent dans la rue.",
    "maison enfant",
  ],
  es: ["Las casas de la ciudad son viejas y los niños juegan en la calle.", "casa ciudades niño"],
  it: ["Le case della città sono vecchie e il bambino gioca nella strada.", "casa bambini strade"],
  pt: ["As casas da cidade são velhas e os meninos não jogam na rua.", "casa cidades menino"],
  nl: ["De huizen van het dorp zijn oud en de kinderen spelen op straat.", "huizen en straten"],
  sv: ["Husen i staden är gamla och barnen leker på gatan som det är.", "hus städer gator"],
  ru: ["Дома города старые, и дети играют на улице.", "дом городами улица"],
  uk: ["Міста України старі, і діти їхні грають на вулиці.", "місто вулиця"],
  el: ["Οι πόλεις της χώρας είναι παλιές.", "πόλη χώρα"],
  ar: ["المدينة القديمة فيها الكتاب الجديد.", "مدينة كتاب"],
  hi: ["लड़कियों ने किताबें पढ़ीं।", "लड़की किताब"],
  tr: ["Evlerimizde kitaplar ve bir masa var, bu çok güzel.", "ev kitap"],
} as const;

test("the language of a text is detected, English where nothing tells it", () => {
  for (const [language, [text]] of Object.entries(SAMPLES))
    assert.equal(detectLanguages([text]), [language]);
  assert.equal(detectLanguages(["Quux blorb 1234"]), ["en"]);
  assert.equal(detectLanguages(["北京是中国的首都"]), []);
  assert.equal(detectLanguages(["The house of the town. Дома города и дети на улице."]).sort(), [
    "en",
    "ru",
  ]);
});

test("another form of a word finds its passage", async () => {
  for (const [language, [text, question]] of Object.entries(SAMPLES)) {
    const analyser = await openAnalyser(detectLanguages([text]));
    const terms = new Set(analyser.terms(text));
    const shared = analyser.terms(question).filter((term) => terms.has(term));
    assert.ok(shared.length >= 2, `${language}: ${[...terms]} / ${analyser.terms(question)}`);
  }
});

test("every language has a stemmer", async () => {
  for (const language of LANGUAGES) {
    const stem = await loadStemmer(language);
    assert.type(stem("abcabc"), "string", language);
  }
});

test("texts without spaces are divided into words, names without an entry into pairs", async () => {
  const { terms } = await openAnalyser([]);
  assert.ok(terms("北京是中国的首都").includes("中国"));
  assert.ok(terms("東京は日本の首都です").includes("日本"));
  assert.ok(terms("ประเทศไทยมีเมืองหลวงคือกรุงเทพ").includes("กรุงเทพ"));
  const [passage, question] = [terms("他叫龘靐齉在这里"), terms("谁是龘靐齉")];
  assert.ok(passage.includes("龘靐") && question.includes("龘靐"));
});

test("forms of the same word are one term", async () => {
  const { terms } = await openAnalyser(["en"]);
  for (const [one, other] of [
    ["light\u00adhouse", "lighthouse"],
    ["light\u200bhouse", "lighthouse"],
    ["ﬁre", "fire"],
    ["ｃａｔ", "cat"],
    ["Café", "cafe\u0301"],
    ["Straße", "strasse"],
    ["İstanbul", "istanbul"],
    ["O’Neil", "O'Neil"],
    ["한국", "한국".normalize("NFD")],
  ] as const)
    assert.equal(terms(one), terms(other));
});

test("a passage of each language is found among the others", async () => {
  const passages = Object.entries(SAMPLES).map(([id, [text]]) => ({ id, title: "", text }));
  const others = [
    { id: "zh", title: "", text: "北京是中国的首都。" },
    { id: "ja", title: "", text: "東京は日本の首都です。" },
    { id: "th", title: "", text: "กรุงเทพเป็นเมืองหลวงของประเทศไทย" },
    { id: "ko", title: "", text: "서울은 한국의 수도이다." },
    { id: "he", title: "", text: "ירושלים היא עיר עתיקה." },
    { id: "ka", title: "", text: "თბილისი საქართველოს დედაქალაქია." },
  ];
  const bm25 = await buildBm25([...passages, ...others]);
  for (const [question, id] of [
    ["中国的首都在哪里?", "zh"],
    ["日本の首都はどこですか", "ja"],
    ["เมืองหลวงของไทย", "th"],
    ["서울은 어디", "ko"],
    ["ירושלים", "he"],
    ["საქართველოს", "ka"],
    ["улица города", "ru"],
    ["maisons", "fr"],
  ] as const)
    assert.is(bm25.search(question, 1)[0]?.id, id, question);
});

test.run();
