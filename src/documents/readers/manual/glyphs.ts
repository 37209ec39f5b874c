/** Special characters of roff: `\(em`, `\[bu]`, `\[u2014]`. Source: groff_char(7). */

const NAMES =
  "em — en – hy - mi − lq “ rq ” oq ‘ cq ’ aq ' dq \" bu • sq □ ru _ ul _ br | bv | rs \\ sl / ha ^ ti ~ " +
  "at @ sh # Do $ ct ¢ Eu € eu € Ye ¥ Po £ de ° mu × di ÷ +- ± t+- ± <= ≤ >= ≥ != ≠ == ≡ ~~ ≈ ~= ≈ " +
  "=~ ≅ ap ∼ -> → <- ← <> ↔ ua ↑ da ↓ rA ⇒ lA ⇐ hA ⇔ uA ⇑ dA ⇓ co © rg ® tm ™ sc § ps ¶ dg † dd ‡ " +
  "12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ if ∞ mo ∈ nm ∉ sr √ pd ∂ is ∫ fa ∀ te ∃ no ¬ AN ∧ OR ∨ ** ∗ pl + eq = " +
  "pt ∝ es ∅ ca ∩ cu ∪ sb ⊂ ib ⊆ ip ⊇ st ∋ gr ∇ md ⋅ pc · lB [ rB ] lC { rC } la ⟨ ra ⟩ ga ` aa ´ a^ ^ " +
  "a~ ~ ad ¨ ac ¸ a- ¯ Fo « Fc » fo ‹ fc › Bq „ bq ‚ r! ¡ r? ¿ ss ß AE Æ ae æ OE Œ oe œ /O Ø /o ø /L Ł " +
  "/l ł oA Å oa å -D Ð Sd ð TP Þ Tp þ ff ff fi fi fl fl Fi ffi Fl ffl CR ↵ OK ✓ lz ◊ ci ○ Of ª Om º " +
  "mc µ bb ¦ fm ′ sd ″ tf ∴ product ∏ sum ∑ *a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ " +
  "*m μ *n ν *c ξ *o ο *p π *r ρ *s σ *t τ *u υ *f ϕ *x χ *q ψ *w ω *A Α *B Β *G Γ *D Δ *E Ε *Z Ζ *Y Η " +
  "*H Θ *I Ι *K Κ *L Λ *M Μ *N Ν *C Ξ *O Ο *P Π *R Ρ *S Σ *T Τ *U Υ *F Φ *X Χ *Q Ψ *W Ω ts ς";

const parts = NAMES.split(" ");
const GLYPHS: ReadonlyMap<string, string> = new Map(
  Array.from({ length: parts.length / 2 }, (_, i) => [parts[2 * i]!, parts[2 * i + 1]!]),
);

/** Marks before a letter: `'e`, `:a`, `vS`. */
const ACCENTS: Readonly<Record<string, string>> = {
  "'": "\u0301",
  "`": "\u0300",
  "^": "\u0302",
  "~": "\u0303",
  ":": "\u0308",
  ",": "\u0327",
  v: "\u030c",
};

/** Empty for a name that means nothing. */
export function glyph(name: string): string {
  const known = GLYPHS.get(name);
  if (known !== undefined) return known;
  const [, codes] = /^u([0-9A-F]{4,6}(?:_[0-9A-F]{4,6})*)$/.exec(name) ?? [];
  if (codes !== undefined)
    return codes
      .split("_")
      .map((code) => character(code, 16))
      .join("");
  const [, decimal] = /^char(\d{1,3})$/.exec(name) ?? [];
  if (decimal !== undefined) return character(decimal, 10);
  const accent = ACCENTS[name[0] ?? ""];
  if (accent !== undefined && /^[A-Za-z]$/.test(name.slice(1)))
    return `${name[1]}${accent}`.normalize("NFC");
  return "";
}

export function character(digits: string, base: 10 | 16): string {
  const point = Number.parseInt(digits, base);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : "";
}
