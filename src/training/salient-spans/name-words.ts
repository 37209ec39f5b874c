/** Word lists: heads that determine the kind of a name, and capitalised words that are no names. */

/** The kinds of heads that decide which spans are one. */
export type HeadKind = "organisation" | "facility" | "event" | "other";

const HEADS_BY_KIND: Readonly<Record<HeadKind, readonly string[]>> = {
  organisation: [
    "abbey academy administration agency airlines airways alliance archdiocese army assembly association athletic",
    "authority band bank battalion board brigade broadcasting brothers bureau cabinet center centre church clinic club",
    "co college commission committee community company conference conservatoire conservatory consortium convent corp",
    "corporation corps council court department diocese directorate division enterprises entertainment fc federation",
    "films force forces forum foundation front fund gazette gmbh government group guild hospital inc industries infantry",
    "initiative institute institution international laboratories laboratory league legislature llc ltd media ministry",
    "mission monastery motors museum navy network office opera orchestra organisation organization parliament partners",
    "party pictures plc police post press productions quartet railroad railway railways records regiment school schools",
    "securities seminary senate service services society squad squadron station studio studios symphony team television",
    "theater theatre times tribune trio trust union united university",
  ],
  facility: [
    "airport aqueduct arena auditorium ave avenue barracks boulevard bridge building canal castle cathedral cemetery",
    "chapel dam expressway field fort fortress freeway garden gardens gate hall highway hotel house lane library",
    "lighthouse mall mansion mill mine mosque motorway observatory palace park pier plaza port prison racecourse rd rink",
    "road shrine speedway square st stadium street temple tower towers tunnel turnpike villa wall wharf winery zoo",
  ],
  event: [
    "battle bowl campaign carnival challenge championship championships classic congress crisis cup derby election",
    "elections exhibition expo fair festival final finals games holocaust honours invasion marathon massacre mutiny",
    "olympics open pageant paralympics playoffs prix rebellion revolt revolution riots series siege stakes summit tour",
    "tournament trophy uprising war wars",
  ],
  other: [
    "basin bay beach cape channel coast continent crater creek desert falls forest formation glacier gulf hill hills",
    "island islands isle isles lagoon lake lakes mount mountain mountains ocean pass peak peninsula plain plains plateau",
    "point range reef region reserve ridge river sea sound strait valley volcano waterfall wetland wetlands woods",
    "borough city colony county district empire kingdom municipality parish prefecture province republic state states",
    "town township village",
    "accord accords act agreement amendment bill charter code constitution convention decree directive ordinance",
    "protocol regulations statute treaty",
    "anthology award awards bible chronicle chronicles encyclopedia koran magazine medal prize quran sonata",
    "airliner class engine linux windows",
  ],
};

/** Head -> kind of the name. The head is the last word, or the word before "of". */
export const HEADS: ReadonlyMap<string, HeadKind> = new Map(
  Object.entries(HEADS_BY_KIND).flatMap(([kind, lines]) =>
    [...words(...lines)].map((head): [string, HeadKind] => [head, kind as HeadKind]),
  ),
);

/** Other words after which a name continues with "of" or "for". */
export const BEFORE_OF: ReadonlySet<string> = words(
  "book chamber commonwealth confederation day declaration faculty legion order peace people queen register secretary",
  "sisters sons",
);

/** Roles and ranks, which are not part of a name. */
export const ROLES: ReadonlySet<string> = words(
  "actor actress admiral ambassador apprentice archbishop archdeacon archduke assistant associate attorney bachelor",
  "bassist bishop brigadier captain cardinal chair chairman chairperson chancellor chief cinematographer coach col colonel",
  "columnist commander commissioner composer congressman congresswoman consul corporal councillor count curator dame dean",
  "deputy detective director doctor dr drummer duke earl editor emeritus emperor engineer ensign executive father fellow",
  "former founder fr gen general governor guitarist head hon inspector judge junior justice knight lady leader lecturer",
  "lieutenant lord lt major manager marshal master mayor member minister miss mr mrs ms officer owner pastor patron",
  "postmaster premier president presidents prime prince princess prof professor provost rector rep representative rev",
  "reverend secretary sen senator senior sergeant sgt sheriff singer sir solicitor speaker superintendent surgeon",
  "treasurer trustee undersecretary vicar vice vice-chairman vice-chancellor vice-president viscount writer",
);

/** Words that are often capitalised, and are not masked when they stand alone. */
export const NO_NAMES: ReadonlySet<string> = words(
  "ad am b.a b.s ba bc bce bsc cd cds ce ceo cfo cto dj dna dvd dvds ep eps eur fm god gpa hp i id ip it lord lp lps m.a",
  "m.s ma mba md mep mp mps mrna mrnas msc no nos ok pc ph ph.d phd pm pr rna rnas tv usd vs jr sr",
  "ii iii iv vi vii viii ix xi xii first second third",
  "january february march april may june july august september october november december",
  "central east eastern north north-east northeast northern northwest south southeast southern southwest west western",
  "category chapter class division episode fig figure final finals grade group level lot part quarterfinals room round",
  "season section semi-final semi-finals semifinal semifinals stage table type vol volume",
  "act army arts association bachelors bible board choir church city college committee company constitution corporation",
  "council county court degree department district doctorate government history house internet island lake league club",
  "masters mathematics men mountain navy party peninsula province river road school science state street team town university",
  "village web women",
);

/**
 * Religions, parties and peoples that are missing in compromise's lexicon, or have no tag there.
 */
export const PEOPLES: ReadonlySet<string> = words(
  "african african-american anglican anglo-saxon arab asian aztec baptist berber buddhist byzantine calvinist catholic",
  "catholics celtic christian christians communist confederate confucian conservative corsican czechoslovak democrat",
  "democratic democrats english episcopal european franciscan gallic germanic greek gypsy hindu hindus hispanic huguenot",
  "inca islamic islamist jain jesuit jew jewish jews kurdish kurds labour lankan latin latino liberal lutheran maoist",
  "marxist maya mennonite methodist mongol mormon mughal muslim muslims nazi nazis norman normans orthodox ottoman",
  "ottomans pentecostal persian polish presbyterian protestant protestants puritan quaker republican republicans roma",
  "roman romans sami saxon scandinavian semitic serb serbs shia shiite sikh sikhs slavic soviet soviets spartan sunni",
  "taoist trojan unionist viking vikings whig whigs yugoslav zionist zulu",
);

/** Places with "and" in their name; of a longer name, the words next to "and". */
export const PLACES_WITH_AND: ReadonlySet<string> = new Set([
  "Antigua and Barbuda",
  "Bosnia and Herzegovina",
  "Dumfries and Galloway",
  "Kitts and Nevis",
  "Newfoundland and Labrador",
  "Trinidad and Tobago",
  "Turks and Caicos",
  "Tyne and Wear",
]);

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
