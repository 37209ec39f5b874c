/**
 * Finds dates and times of day by rule, without the words before them ("in", "early"). Durations,
 * ages and relative dates ("two years later") are not dates: they cannot be looked up.
 */

import type { KindSpan, SpanKind } from "./words.ts";

const MONTH = String.raw`(?:(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?|May\b)`;
const DAY = String.raw`\b(?:[0-2]?\d|3[01])(?:st|nd|rd|th)?\b`;
const YEAR = String.raw`[12]\d{3}\b(?!,\d)`;
const DASH = "[-–—/]";
const AND = String.raw`\s?(?:${DASH}|,|&amp;|&|and|or|to)\s?`;
const ERA = String.raw`(?:B\.?C\.?E\.?|B\.?C\.?|A\.?D\.?|C\.?E\.?)(?![\p{L}])`;
const ORDINAL = String.raw`(?:\b\d{1,2}(?:st|nd|rd|th)|\b(?:(?:twenty-)?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth))`;
const HOUR = String.raw`\b(?:[01]?\d|2[0-3])`;

const DATES = pattern(
  `${DAY}(?:${AND}${DAY})?(?: of)? ${MONTH}(?:,? ${YEAR})?`,
  String.raw`\b${MONTH} ${DAY}(?:${AND}${DAY})?(?:,? ${YEAR})?`,
  String.raw`\b${MONTH}(?:,| of)? ${YEAR}`,
  String.raw`\b[12]\d{3}-\d{2}-\d{2}\b`,
  String.raw`\b\d{1,2}([/.])\d{1,2}\1(?:[12]\d)?\d{2}\b`,
  String.raw`${ORDINAL}(?:\s?(?:${DASH}|and|or|to|to the|and the)\s?${ORDINAL})?[- ]centur(?:y|ies)(?: ${ERA})?`,
  String.raw`\b(?:[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter)(?: of)? ${YEAR}`,
  String.raw`\b[12]\d{2}0['’]?s\b`,
  String.raw`\b(?:A\.?D\.?) \d{1,4}\b`,
  String.raw`\b\d{1,4}(?:${DASH}\d{1,4})? ${ERA}`,
  String.raw`\b(?:Jan|Febr)uary\b|\b(?:April|June|July|August|September|October|November|December)\b`,
  String.raw`(?<=\b(?:by|during|early|from|in|In|late|mid|next|of|since|Since|through|to|until) )(?:March|May)\b(?! \p{Lu})`,
  String.raw`\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b`,
);

const YEARS = pattern(
  String.raw`(?<!\p{N}[-–.])(?<!\p{L}[-–])\b${YEAR}(?:${DASH}(?:[12]\d{3}|\d{2})\b)?`,
);

/** Digits after the word "year": "the year 65". */
const NAMED_YEAR = /(?<=\byear )\d{2,4}\b/gu;

const TIMES = pattern(
  String.raw`${HOUR}(?:[:.][0-5]\d)?\s?(?:a\.m\.|p\.m\.|[ap]m\b|AM\b|PM\b|o['’]clock\b)`,
  String.raw`${HOUR}:[0-5]\d(?::[0-5]\d)? (?:UTC|GMT|hours|[ECMP][SD]?T)\b`,
);

/** Words after a count and before an ordinal number: such numbers only look like years. */
const COUNTED =
  /^[- ]?(?:%|°|per cent|percent|(?:square |cubic |nautical )?(?:k?m|cm|mm|ft|kg|km2|m2|mi|hp|kW|MW|MHz|Hz)\b|(?:kilo)?(?:met(?:er|re)s?|grams?)|miles?|feet|foot|yards?|acres?|hectares?|inch(?:es)?|tons?|tonnes?|pounds?|dollars?|euros?|people|persons?|inhabitants|residents|men|women|children|soldiers|troops|students|pupils|employees|workers|members|votes?|seats?|copies|pages?|words|species|units?|vehicles|cars|houses|homes|households|families|spectators|passengers|patients|subjects|participants|cases|deaths|times|points|runs|games|goals|days|hours|years|minutes|seconds)\b/u;
const NUMBERED =
  /(?:[#$£€¥]\s?|\b(?:No|Nos|number|of over|more than|over|nearly|almost|least|total of|population of|rank of|ranking of|score of|flight|room|route|highway|page|pp?)(?:\.\s?|\s))$/iu;

/** Spans of dates and times of day, in order, without overlap. */
export function calendarSpans(sentence: string): KindSpan[] {
  const found: KindSpan[] = [];
  const add = (start: number, text: string, kind: SpanKind) => {
    const end = start + text.length;
    if (!found.some((span) => span.start < end && start < span.end))
      found.push({ start, end, kind });
  };
  for (const match of sentence.matchAll(TIMES)) add(match.index, match[0], "other");
  for (const match of sentence.matchAll(DATES)) add(match.index, match[0], "date");
  for (const match of sentence.matchAll(YEARS)) {
    const end = match.index + match[0].length;
    if (COUNTED.test(sentence.slice(end, end + 30))) continue;
    if (NUMBERED.test(sentence.slice(Math.max(0, match.index - 30), match.index))) continue;
    add(match.index, match[0], "date");
  }
  for (const match of sentence.matchAll(NAMED_YEAR)) add(match.index, match[0], "date");
  return found.sort((a, b) => a.start - b.start);
}

function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.map((alternative) => `(?:${alternative})`).join("|"), "gu");
}
