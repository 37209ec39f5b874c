/**
 * Characters of the fonts Symbol and Wingdings (`w:sym`), whose codes have another meaning there.
 *
 * Source: https://www.unicode.org/Public/MAPPINGS/VENDORS/ADOBE/symbol.txt; for Wingdings, ISO/IEC
 * 10646 proposal N4384.
 */

/** From 0x20 and from 0xA0 on. */
const SYMBOL = [
  " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
  "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑",
].map((characters) => [...characters]);

/** The signs that have a meaning in a text. The others are ornaments. */
const WINGDINGS: Readonly<Record<string, ReadonlyMap<number, string>>> = {
  wingdings: codes(
    "28☎ 2a✉ 4a☺ 4c☹ 6c● 6e■ 6f☐ 71☐ 72☐ 75◆ 76❖ 9f• a7▪ a8☐ d8➢ df← e0→ e1↑ e2↓ e8➔ ef⇦ f0⇨",
    "f1⇧ f2⇩ fb✗ fc✓ fd☒ fe☑",
  ),
  "wingdings 2": codes("4f✗ 50✓ 51☒ 52☑ 53☒ 54☒ a3☐"),
};

function codes(...lists: readonly string[]): Map<number, string> {
  const pairs = lists.join(" ").split(" ");
  return new Map(pairs.map((pair) => [Number.parseInt(pair, 16), pair.slice(2)]));
}

/** @param code hexadecimal; in the private range F000 to F0FF for a code of the font */
export function symbol(font: string, code: string): string {
  const given = Number.parseInt(code, 16);
  if (Number.isNaN(given) || given > 0x10_ff_ff) return "";
  const own = given >= 0xf0_00 && given <= 0xf0_ff ? given - 0xf0_00 : given;
  const name = font.toLowerCase();
  if (name === "symbol") {
    const [at, row] = own >= 0xa0 ? [own - 0xa0, SYMBOL[1]!] : [own - 0x20, SYMBOL[0]!];
    return row[at] ?? "";
  }
  if (name.startsWith("wingdings")) return WINGDINGS[name]?.get(own) ?? "";
  return own === given ? String.fromCodePoint(given) : "";
}
