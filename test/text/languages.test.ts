/** Terms of many languages: detected, divided into words, stemmed. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../src/retrieval/bm25/bm25.ts";
import { detectLanguages } from "../../src/text/detect-languages.ts";
import { LANGUAGES, loadStemmer } from "../../src/text/languages.ts";
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

test("names and phrases of other languages leave English texts English", () => {
  const lists = {
    menus: [
      "Apple pie a la carte",
      "Chicken a la king",
      "Beef stew, crème brûlée au chocolat",
      "Pie a la mode",
    ],
    names: ["Maria de la Cruz", "Juan de la Vega", "Ana do Carmo", "Ludwig van der Rohe"],
    places: ["Los Angeles", "El Segundo", "Las Vegas", "La Jolla", "Del Mar", "Costa del Sol"],
    tasks: ["do dishes", "call Ann, do taxes", "do homework", "buy bread"],
    parts: ["Bolt M8 en 14399", "Nut M8 en 1661", "Washer en 14399", "Rivet di 4"],
  };
  for (const [name, texts] of Object.entries(lists))
    assert.equal(detectLanguages(Array.from({ length: 50 }, () => texts).flat()), ["en"], name);
});

test("English without its short words is English", () => {
  const abstract =
    "dietary intake associated risk breast cancer women cohort study results suggest protective " +
    "effects carotenoids measured plasma concentrations di-ethyl phthalate exposure en bloc resection";
  assert.equal(detectLanguages([abstract]), ["en"]);
  assert.equal(detectLanguages([`${abstract} pesto per la dieta`, abstract, abstract]), ["en"]);
});

test("a language is known by its endings where short words are few", () => {
  const parts = [
    "Befestigung für Heizungsrohre",
    "Dichtung mit Verschraubung",
    "Abdeckung für Lüftungsöffnung",
    "Halterung mit Isolierung und Erdung",
    "Steuerung für Beleuchtung",
  ];
  assert.equal(detectLanguages(parts), ["de"]);
});

test("a collection can have two languages", async () => {
  const english = "The houses of the town are old and the children played in the streets.";
  const texts = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? english : SAMPLES.de[0]));
  const languages = detectLanguages(texts);
  assert.equal([...languages].sort(), ["de", "en"]);
  const { terms } = await openAnalyser(languages);
  for (const [one, other] of [
    ["Häuser", "Haus"],
    ["houses", "house"],
    ["played", "playing"],
  ] as const)
    assert.ok(
      terms(one).some((term) => terms(other).includes(term)),
      one,
    );
  assert.equal(detectLanguages([...Array(19).fill(english), SAMPLES.de[0]]), ["en"]);
});

test("languages that are close to others, or whose words have many endings, are detected", () => {
  const texts = {
    da: "Byen blev grundlagt i 1167 og er nu landets største. Den har mange gamle kirker, og det er let at se dem til fods. Befolkningen er vokset, siden broen blev bygget.",
    no: "Byen ble grunnlagt i 1048 og er nå landets største. Den har mange gamle kirker, og det er lett å se dem til fots. Befolkningen er økt siden broen ble bygget.",
    fi: "Kaupunki perustettiin vuonna 1550 ja se on nyt maan suurin. Siellä on monia vanhoja kirkkoja, joista osa sijaitsee keskustassa, mutta myös saarilla.",
    hu: "A várost 1241-ben alapították, és ma az ország legnagyobb városa. Sok régi templom van benne, amelyek közül néhány a belvárosban áll, és a hegyen is vannak.",
    ro: "Orașul a fost întemeiat în 1459 și este cel mai mare din țară. Are multe biserici vechi, dintre care unele sunt în centru, iar altele pe dealurile din jurul orașului.",
    id: "Kota ini didirikan pada tahun 1527 dan merupakan yang terbesar di negara itu. Ada banyak gereja tua yang terletak di pusat kota dan dapat dicapai dengan berjalan kaki dari pelabuhan.",
    ga: "Bunaíodh an chathair sa bhliain 988 agus is í an chathair is mó sa tír í. Tá go leor eaglaisí ann, agus tá cuid acu i lár na cathrach ar an abhainn.",
    lt: "Miestas buvo įkurtas 1323 metais ir yra didžiausias šalies miestas. Jame yra daug senų bažnyčių, kurios yra miesto centre, bet taip pat ir ant kalvų.",
    bg: "Градът е основан през 1300 година и е най-големият в страната. В него има много стари църкви, част от които са в центъра на града.",
    sr: "Град је основан и највећи је у земљи. У њему има много старих цркава, од којих су неке у центру, а неке на брдима око града.",
    ne: "यो सहर देशको सबैभन्दा ठूलो सहर हो र यहाँ धेरै पुराना मन्दिर छन्। यो नदी को किनारमा छ र धेरै मानिस यहाँ घुम्न आउँछन्।",
  } as const;
  for (const [language, text] of Object.entries(texts))
    assert.equal(detectLanguages([text]), [language], language);
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
