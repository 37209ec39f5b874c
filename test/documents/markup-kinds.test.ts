/** HTML and Markdown: small inputs of every kind, with the exact text that is read. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { readOne } from "./support.ts";

/** What is read of the body of a page. */
const HTML: Readonly<Record<string, [body: string, text: string]>> = {
  exponents: ["<p>10<sup>6</sup> J of H<sub>2</sub>O</p>", "10^6 J of H2O"],
  "a number and its exponent": ["<p>in 1932<sup>3</sup> times</p>", "in 1932^3 times"],
  "an index after a number": ["<p>10<sub>2</sub></p>", "10_2"],
  "an exponent of several signs": ["<p>x<sup>n + 1</sup></p>", "x^(n + 1)"],
  "a negative exponent": ["<p>10<sup>−3</sup> m</p>", "10^−3 m"],
  ordinals: ["<p>the 5<sup>th</sup> of M<sup>me</sup> X</p>", "the 5th of Mme X"],
  "a reference to a note": [
    '<p>In 1932<sup><a href="#fn1">3</a></sup> it began.</p><p id="fn1">The note. <a href="#r1">↩</a></p>',
    "In 1932 it began.\n\nThe note.",
  ],
  "a reference in brackets": [
    '<p>It began<sup class="reference"><a href="#cite_note-1">[1]</a></sup>.</p>',
    "It began.",
  ],
  "a link around a number": ['<p>It began<a href="#fn1"><sup>1</sup></a>.</p>', "It began."],
  "cells with blocks": [
    "<table><tr><td><p>a</p></td><td><p>b</p><p>c</p></td></tr><tr><td><div>d</div></td><td>e</td></tr></table>",
    "a | b c\nd | e",
  ],
  "cells over columns": [
    "<table><tr><td colspan=2>a</td><td>b</td></tr><tr><td>c</td><td>d</td><td>e</td></tr></table>",
    "a | a | b\nc | d | e",
  ],
  "cells over rows": [
    "<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr><tr><td>d</td><td>e</td></tr></table>",
    "a | b\na | c\nd | e",
  ],
  "empty cells": [
    "<table><tr><th></th><th>x</th></tr><tr><td></td><td>1</td></tr></table>",
    "| x\n--- | ---\n| 1",
  ],
  "a list in a cell": [
    "<table><tr><td>a</td><td><ul><li>x<li>y</ul></td></tr></table>",
    "a | x; y",
  ],
  "a caption": ["<table><caption>Prices</caption><tr><td>a<td>b</table>", "Prices\n\na | b"],
  "a table that places columns of text": [
    `<table><tr><td><h2>Left</h2><p>One.</p></td><td><p>Two.</p></td></tr></table>`,
    "One.\n\nTwo.",
  ],
  "a table in a cell": [
    "<table><tr><td>Feature<td>Value<tr><td>Ports<td><table><tr><td>USB<td>2<tr><td>HDMI<td>1</table></table>",
    "Feature | Value\n--- | ---\nPorts | USB | 2; HDMI | 1",
  ],
  "deleted text": ["<p><s>It costs 5.</s> <del>no</del> <ins>It costs 6.</ins></p>", "It costs 6."],
  "the mark of a note without a link": ["<p>In 1932<sup>[4]</sup> it was.</p>", "In 1932 it was."],
  "nested lists": [
    "<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul>",
    "- a\n  - b\n- c\n  d",
  ],
  "numbered lists": [
    '<ol start=3><li>a<li value=7>b</ol><ol type="a"><li>c</ol><ol type="I"><li>d<li>e</ol>',
    "3. a\n7. b\n\na. c\n\nI. d\nII. e",
  ],
  definitions: [
    "<dl><dt>HTTP<dd>a protocol<dt>URL<dd>an address</dl>",
    "HTTP: a protocol\nURL: an address",
  ],
  code: ["<pre><code>def f(x):\n    return x\n</code></pre>", "def f(x):\n    return x"],
  "code with numbers of lines": [
    "<table><tr><td class=linenos><pre>1\n2</pre></td><td><pre>a\nb</pre></td></tr></table>",
    "a\nb",
  ],
  "lines that a browser breaks": ["<p>one<br>two</p>", "one\ntwo"],
  formulas: [
    "<p><math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math> and <math><mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac></math></p>",
    "E = mc^2 and 1/(a + b)",
  ],
  "a formula with its source in TeX": [
    "<p><math><semantics><msqrt><mi>x</mi></msqrt><annotation>\\sqrt{x}</annotation></semantics></math></p>",
    "√(x)",
  ],
  "a formula that is hidden and drawn": [
    '<p>so <span style="display:none"><math><mi>x</mi></math></span><img alt="x to y" class="mwe-math"></p>',
    "so x",
  ],
  ruby: ["<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字</p>", "漢字"],
  permalinks: [
    '<h2>Use<a class="headerlink" href="#use" title="Permalink">¶</a></h2><p>It.</p><h2><a href="#b" class="anchor">#</a>B</h2><p>Is.</p>',
    "It.\n\nIs.",
  ],
  "hidden text": ['<p hidden>no</p><p style="display: none">no</p><p>yes</p>', "yes"],
  "icons that are read by no one": ['<p>a<i aria-hidden="true">★</i> b</p>', "a b"],
  images: [
    '<p><img alt="Plan of the house"> <a href="x"><img alt="build passing now"></a></p>',
    "Plan of the house",
  ],
  navigation: [
    '<div role="navigation"><a>Home</a></div><nav>Menu</nav><p>The lion lives in Africa.</p><footer>© 2020</footer><aside>Ad</aside>',
    "The lion lives in Africa.",
  ],
  "a banner on cookies": [
    '<div id="cookie-consent-banner">We use cookies.</div><p>The lion lives.</p>',
    "The lion lives.",
  ],
  "cookies that are food": [
    '<div class="cookie-recipe"><p>Mix the flour.</p></div>',
    "Mix the flour.",
  ],
  "the main part": ["<p>Before.</p><main><p>The lion.</p></main><p>After.</p>", "The lion."],
  "the role of the main part": [
    '<p>Before.</p><div role="main"><p>The lion.</p></div>',
    "The lion.",
  ],
  "articles without a main part": [
    "<p>Before.</p><article><p>One.</p></article><article><p>Two.</p></article>",
    "One.\n\nTwo.",
  ],
  "a main part with less than a fifth of the words": [
    `<main><p>Loading.</p></main><div><p>${"The lion lives in Africa. ".repeat(5).trim()}</p></div>`,
    `Loading.\n\n${"The lion lives in Africa. ".repeat(5).trim()}`,
  ],
  "asides with almost all words": [
    `<aside><p>${"The lion lives in Africa. ".repeat(5).trim()}</p></aside><p>Ad.</p>`,
    `${"The lion lives in Africa. ".repeat(5).trim()}\n\nAd.`,
  ],
  "many links of a navigation": [
    `<nav>${"<a>A link of the menu</a> ".repeat(50)}</nav><main><p>The lion.</p></main>`,
    "The lion.",
  ],
  "a section whose class is that of a banner": [
    '<section class="gdpr"><h2>Rights</h2><p>Ask Orla.</p></section>',
    "Ask Orla.",
  ],
  "a banner with buttons": [
    '<div id="onetrust-banner"><h2>Privacy</h2><p>We use cookies.</p><button>Yes</button></div><p>A.</p>',
    "A.",
  ],
  "the head of a page above its main part": [
    "<header><h1>Ferry</h1><p>It leaves from the south pier.</p></header><main><p>Daily.</p></main>",
    "It leaves from the south pier.\n\nDaily.",
  ],
  "articles that are cards": [
    `<h1>Valve</h1><p>It costs 45 crowns.</p><article><p>${"It works well. ".repeat(9).trim()}</p></article>`,
    `It costs 45 crowns.\n\n${"It works well. ".repeat(9).trim()}`,
  ],
  "notes inside of the main part": [
    '<main><p>One.</p><aside><p class="aside__title">Caution</p><p>Close it.</p></aside></main>',
    "One.\n\nCaution\n\nClose it.",
  ],
  "links inside of the main part": [
    "<main><p>One.</p><aside><h2>Related</h2><ul><li><a>Another page</a></ul></aside></main>",
    "One.",
  ],
  "the footer of a quotation": [
    "<blockquote><p>To be.</p><footer>Hamlet</footer></blockquote>",
    "To be.\n\nHamlet",
  ],
  "headings that are buttons": [
    "<main><h2><button aria-expanded=false>Fees?</button></h2><p>It is 40.</p></main>",
    "It is 40.",
  ],
  "questions that are buttons": [
    "<main><button aria-expanded=false>Who pays?</button><div hidden><p>All do.</p></div></main>",
    "Who pays?\n\nAll do.",
  ],
  "buttons beside a heading": ["<h2>Use <button>Copy link</button></h2><p>It.</p>", "It."],
  "panels of tabs": [
    "<div role=tablist><button role=tab>Linux</button><button role=tab>Mac</button></div>" +
      "<div role=tabpanel>apt</div><div role=tabpanel hidden>brew</div>",
    "Linux\n\napt\n\nMac\n\nbrew",
  ],
  "text that search in a browser finds": [
    '<div hidden="until-found">Nine nights.</div>',
    "Nine nights.",
  ],
  "text of a drawing": [
    "<svg><title>Plan</title><text>North: 12</text><text>South: 8</text></svg>",
    "North: 12\nSouth: 8",
  ],
  "a shadow root": [
    '<my-card><template shadowrootmode="open"><p>In it.</p></template></my-card><template>no</template>',
    "In it.",
  ],
  quotations: ["<p>It says <q>no</q>.</p>", "It says “no”."],
  "a class of numbers of lines": ['<div class="gutter"><p>Clean it.</p></div>', "Clean it."],
  "links to edit and to the source": [
    '<dl><dt>f(x)<a href="m.html">[source]</a><a class="headerlink" href="#f">¶</a></dt><dd>Doubles.</dd></dl>' +
      '<p>A.</p><h2>B<span class="mw-editsection">[<a href="e">edit</a>]</span></h2><p>C.</p>',
    "f(x): Doubles.\n\nA.\n\nC.",
  ],
  "rows of a navigation": [
    "<table><tr><td><a>Prev</a><td>Chapter 5<td><a>Next</a></table><p>A.</p><p><a>Home</a> | <a>Up</a></p>",
    "A.",
  ],
};

for (const [what, [body, expected]] of Object.entries(HTML))
  test(`html: ${what}`, async () => {
    const { passages } = await readOne("a.html", `<title>T</title><body>${body}</body>`);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

const MARKDOWN: Readonly<Record<string, [markdown: string, text: string]>> = {
  links: [
    "A [link\nover lines](http://x.y 'title') and <http://a.b>.",
    "A link over lines and http://a.b.",
  ],
  "links by name": ["See [the docs][d].\n\n[d]: http://x.y\n", "See the docs."],
  marks: ["*a* **b** ~~c~~ `d_e` \\*f\\*", "a b d_e *f*"],
  comments: ["a <!-- no --> b\n\n<!--\nno\n\nno\n-->\n\nc", "a b\n\nc"],
  tables: ["| a | b |\n|---|:-:|\n| 1 | `x` |\n| | **y** |", "a | b\n--- | ---\n1 | x\n| y"],
  "code in one line": ["```npm i```\n\nThen **run**.\n", "npm i\n\nThen run."],
  "fenced code": ["```js\nif (a) {\n  b();\n}\n```", "if (a) {\n  b();\n}"],
  "code to the end of the file": ["~~~\na\n", "a"],
  "wrapped lines": ["One line\nof text.\n", "One line of text."],
  lists: ["- a\n- b\n  c\n  1. d\n  2. e\n", "- a\n- b c\n  1. d\n  2. e"],
  footnotes: ["Text.[^1]\n\n[^1]: The note.\n", "Text.\n\n1. The note."],
  definitions: ["Term\n: Meaning\n", "Term: Meaning"],
  alerts: ["> [!NOTE]\n> Take care.\n", "Note\n\nTake care."],
  "alerts with a title": ["> [!info]- Before\n> One.\n>\n> Two.\n", "Info: Before\n\nOne.\n\nTwo."],
  "notes of MkDocs": [
    '!!! warning "Before you start"\n\n    Close the **sea cock**.\n\n        code()\n\nThen go.\n',
    "Warning: Before you start\n\nClose the sea cock.\n\ncode()\n\nThen go.",
  ],
  "notes of MkDocs that open": ["??? note\n    One.\nTwo.\n", "Note\n\nOne.\n\nTwo."],
  "tabs of MkDocs": ['=== "Linux"\n\n    Run `apt`.\n', "Linux\n\nRun apt."],
  "a note of Docusaurus": [":::note[Good]\n\nUse it.\n\n:::\n", "Note: Good\n\nUse it."],
  "links of Obsidian": [
    "See [[Page]], [[Page#Fees]], [[Page|the page]] and [[1]](http://a.b). ![[a.png]]",
    "See Page, Page > Fees, the page and [1].",
  ],
  "comments of Obsidian": ["a %%no%% b\n\n%%\nno\n\nno\n%%\n\nc", "a b\n\nc"],
  "percent signs that are no comments": ["for %%i in x do %%i", "for %%i in x do %%i"],
  "short codes of Hugo": [
    '{{< tabs >}}\n{{% tab "Linux" %}}\nRun `apt`.\n{{% /tab %}}\n{{< /tabs >}}\n\n{{< note >}}Close it.{{< /note >}}',
    "Linux: Run apt.\n\nNote: Close it.",
  ],
  "tags of Liquid": ['{% hint style="info" %}\nOne.\n{% endhint %}\n', "Hint: One."],
  "grid tables": [
    "+---+-----+\n| a | b   |\n+===+=====+\n| 1 | *x* |\n+---+-----+\n",
    "a | b\n--- | ---\n1 | x",
  ],
  formulas: [
    "It is $2*3*4$ for $x_1 + y_1$.\n\n$$\na\n=\n\\alpha * b\n$$\n\nFrom $5 to $7, or $5-$7.",
    "It is 2*3*4 for x_1 + y_1.\n\na = \\alpha * b\n\nFrom $5 to $7, or $5-$7.",
  ],
  "a footnote that nothing refers to": ["A.\n\n[^1]: Alone.\n\nB.\n", "A.\n\nAlone.\n\nB."],
  containers: [":::tip Good\nUse it.\n:::\n", "Tip: Good\n\nUse it."],
  html: [
    "x<sup>2</sup> <kbd>Ctrl</kbd>\n\n<details><summary>More</summary>\n\n**in**\n\n</details>\n",
    "x^2 Ctrl\n\nMore\n\nin",
  ],
  entities: ["a &amp; b &copy;", "a & b ©"],
  "a rule that is no front matter": ["---\n\ntext\n\n---\n", "text"],
  images: ["![The plan of a house](a.png) [![CI](b.svg)](c)", "The plan of a house"],
};

for (const [what, [markdown, expected]] of Object.entries(MARKDOWN))
  test(`markdown: ${what}`, async () => {
    const { passages } = await readOne("a.md", markdown);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

test("markdown: headings that name a kind of note are headings", async () => {
  const text = "# Guide\n\nA.\n\n## Notes\n\nIt is 40.\n\n## Warning\n\nNo swimming.\n";
  const { passages } = await readOne("a.md", text);
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [
      ["Guide", "A."],
      ["Guide > Notes", "It is 40."],
      ["Guide > Warning", "No swimming."],
    ],
  );
});

test("markdown: marks of Obsidian, kramdown and Pandoc", async () => {
  const text =
    'The ==south *pier*== is x==y, a == b. [Pay](u){:target="_blank"} [B](u){ .md-button }\n{: .lead }\n\n' +
    "10^6^ of H~2~O, x^2, a ~ b ~ c, {a: 1}\n";
  const { passages } = await readOne("a.md", text);
  assert.is(
    passages[0]!.text,
    "The south pier is x==y, a == b. Pay B\n\n10^6 of H2O, x^2, a ~ b ~ c, {a: 1}",
  );
});

test("markdown: front matter that is no YAML is fields as they are written", async () => {
  const text = "---\ntitle: [draft] Fees\ntags: {a\n  more: x\n---\n\nText.\n";
  const [passage] = (await readOne("a.md", text)).passages;
  assert.equal(
    [passage!.title, passage!.text, passage!.metadata!.tags],
    ["[draft] Fees", "Text.", "{a"],
  );
});

test("markdown: YAML front matter keeps types and names", async () => {
  const front = [
    "---",
    'title: "Guide: all"',
    "tags: [hr, it]",
    "year: 2021",
    "price: 9.50",
    "draft: false",
    "date: 2024-05-01",
    "source: wiki",
    "author:",
    "  name: Ada",
    "description: >",
    "  On two",
    "  lines.",
    "---",
    "",
    "Text.",
  ].join("\n");
  const [passage] = (await readOne("a.md", front)).passages;
  assert.equal([passage!.title, passage!.text], ["Guide: all", "Text."]);
  assert.equal(passage!.metadata, {
    ...{ _source: "a.md", _lines: "16", tags: ["hr", "it"], year: 2021, price: "9.50" },
    ...{ draft: false },
    ...{ date: "2024-05-01", source: "wiki", "author.name": "Ada", description: "On two lines.\n" },
  });
});

test("markdown: TOML front matter", async () => {
  const toml = '+++\ntitle = "T"\ndate = 2024-05-01\ntags = ["a"]\nweight = 3\n+++\nText.\n';
  const [passage] = (await readOne("a.md", toml)).passages;
  assert.is(passage!.title, "T");
  assert.equal(passage!.metadata, {
    ...{ _source: "a.md", _lines: "7", date: "2024-05-01", tags: ["a"], weight: 3 },
  });
});

test("markdown: headings without ids, and the lines of each section", async () => {
  const text = "# Guide {#top}\n\nIntro.\n\nA\n-\nOne\ntwo.\n\n## B ##\n\n- x\n- y\n";
  const { passages } = await readOne("a.md", text);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._lines]),
    [
      ["Guide", "Intro.", "3"],
      ["Guide > A", "One two.", "7-8"],
      ["Guide > B", "- x\n- y", "12-13"],
    ],
  );
});

test("mdx: imports, components and comments are left out, their contents are Markdown", async () => {
  const mdx = `import { Tabs } from './tabs'
export const x = { a: 1 }

# Install {/* no */}

<Tabs items={["npm > x"]}>
  <Tab value="npm" label="For npm">

    Run **npm i**.

  </Tab>
</Tabs>
`;
  const { passages } = await readOne("a.mdx", mdx);
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [["Install", "For npm:\n\nRun npm i."]],
  );
});

test("markdown: footnotes stand in the section that refers to them", async () => {
  const text =
    "# Fees\n\nIt is 40.[^b] Or 30.^[In winter.]\n\n[^b]: Students pay half.\n\n# Contact\n\nOrla.[^c]\n\n[^c]: Not on Sundays.\n";
  const { passages } = await readOne("a.md", text);
  assert.equal(
    passages.map(({ metadata, text }) => [metadata!._headings, text]),
    [
      [["Fees"], "It is 40. Or 30.\n\n1. Students pay half.\n2. In winter."],
      [["Contact"], "Orla.\n\n3. Not on Sundays."],
    ],
  );
});

test("markdown: a note opens no section, and its title begins its passage", async () => {
  const text = `# A\n\n${"One word. ".repeat(40)}\n\n> [!WARNING]\n> ${"Two words. ".repeat(40)}\n`;
  const { passages } = await readOne("a.md", text);
  assert.equal(
    passages.map(({ title }) => title),
    ["A", "A"],
  );
  assert.ok(passages[1]!.text.startsWith("Warning\n\nTwo words."));
});

test("mdx: comments over several lines", async () => {
  const { passages } = await readOne(
    "a.mdx",
    "One.\n\n{/*\nno\n\nno\n*/}\n\nTwo {/* no */} three.\n\n{\n  /* no\n  no */\n}\n\nFour.\n",
  );
  assert.is(passages[0]!.text, "One.\n\nTwo three.\n\nFour.");
});

test("mdx: a quoted label can have the other quotation mark", async () => {
  const mdx = `<Note title="What's new">One.</Note>\n\n<Note title='A "b"'>Two.</Note>\n`;
  const { passages } = await readOne("a.mdx", mdx);
  assert.equal(
    passages.map(({ text }) => text),
    [`What's new: One.\n\nA "b": Two.`],
  );
});

test("html: headings that are buttons or have links to edit", async () => {
  const { passages } = await readOne(
    "a.html",
    '<h2><button>Fees</button></h2><p>40.</p><h2>B<span class="mw-editsection">[<a>edit</a>]</span></h2><p>C.</p>',
  );
  assert.equal(
    passages.map(({ metadata }) => metadata!._headings),
    [["Fees"], ["B"]],
  );
});

test("html: a note's title is a heading outside of a note, and opens no section in one", async () => {
  const page =
    '<h1>A</h1><h2>Notes</h2><p>One.</p><div class="admonition warning"><h3>Warning</h3><p>Two.</p></div>';
  const { passages } = await readOne("a.html", page);
  assert.equal(
    passages.map(({ title, text }) => [title, text]),
    [["A > Notes", "One.\n\nWarning\n\nTwo."]],
  );
});

const SHOWN: Readonly<Record<string, [body: string, text: string]>> = {
  "exponents by their style": [
    '<p>10<span style="vertical-align: super">6</span> of H<font style="vertical-align:sub">2</font>O',
    "10^6 of H2O",
  ],
  "soft hyphens": ["<p>co&shy;operate</p>", "cooperate"],
  "an open dialog": ["<dialog><p>no</p></dialog><dialog open><p>Closed.</p></dialog>", "Closed."],
};

for (const [what, [body, expected]] of Object.entries(SHOWN))
  test(`html: ${what}`, async () => {
    const { passages } = await readOne("a.html", `<body>${body}`);
    assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
  });

test("html: a word to edit between brackets is no part of a heading", async () => {
  const page = '<h2>Fees [<a href="e">edit</a>]</h2><p>40.</p>';
  const { passages } = await readOne("a.html", page);
  assert.equal(passages[0]!.metadata!._headings, ["Fees"]);
});

test("html: a body that a script shows", async () => {
  const { passages } = await readOne("a.html", '<body style="display:none"><p>Nine tons.');
  assert.is(passages[0]!.text, "Nine tons.");
});

test("html: a message says how many words are left out", async () => {
  const banner = `<div class="cookie-banner"><p>${"We use cookies. ".repeat(10)}</p><button>Yes</button></div>`;
  const { passages, notes } = await readOne("a.html", `${banner}<p>A.</p>`);
  assert.is(passages[0]!.text, "A.");
  assert.match(notes[0]!, /^a\.html: expected text, got 30 words of banners, menus and footers;/);
});

const XHTML: Readonly<Record<string, [body: string, text: string]>> = {
  "elements without contents": ["<audio/><script/><p>One.</p><title/><p>Two.</p>", "One.\n\nTwo."],
  "anchors of 2,000 pages": [`<p>${'<a id="p"/>'.repeat(2_000)}One.</p>`, "One."],
  "sections of characters": ["<p>a <![CDATA[<b> & c]]></p>", "a <b> & c"],
  "names of characters": ["<p>a&nbsp;b &eacute; &amp;</p>", "a b é &"],
  "a prefix": [
    '<h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:ul><h:li>a</h:li></h:ul></h:div>',
    "- a",
  ],
  "what is no XML": ["<p>One<p>Two<br>three & four", "One\n\nTwo\nthree & four"],
  "the number of a page": [
    '<p>It costs <span epub:type="pagebreak">2</span>seven crowns.</p>',
    "It costs seven crowns.",
  ],
};

for (const [what, [body, expected]] of Object.entries(XHTML))
  test(`xhtml: ${what}`, async () => {
    for (const [name, prolog] of [
      ["a.xhtml", ""],
      ["a.html", '<?xml version="1.0"?>\n'],
    ] as const) {
      const page = `${prolog}<html><head><title/></head><body>${body}</body></html>`;
      const { passages } = await readOne(name, page);
      assert.is(passages.map(({ text }) => text).join("\n\n"), expected);
    }
  });

test("html: title, headings and lines", async () => {
  const page =
    "<title>T – S</title>\n<main>\n<h1>T</h1>\n<p>One\ntwo.</p>\n<h2>A</h2>\n<p>Three.</p></main>";
  const { passages } = await readOne("a.html", page);
  assert.equal(
    passages.map(({ title, text, metadata }) => [title, text, metadata!._lines]),
    [
      ["T – S", "One two.", "4-5"],
      ["T – S > A", "Three.", "7"],
    ],
  );
});

test("a table that is longer than a passage repeats its head, and no row is cut", async () => {
  const rows = Array.from({ length: 60 }, (_, i) => `| name ${i} | on\tsale at ${i} euros |`);
  const table = `| Product | Price |\n|---|---|\n${rows.join("\n")}\n`;
  const { passages } = await readOne("a.md", table);
  assert.ok(passages.length > 3);
  let number = 0;
  for (const { text } of passages) {
    const [head, hyphens, ...others] = text.split("\n");
    assert.equal([head, hyphens], ["Product | Price", "--- | ---"]);
    for (const row of others) assert.is(row, `name ${number} | on sale at ${number++} euros`);
  }
  assert.is(number, 60);
});

test("items and lines of code are not cut or joined", async () => {
  const item = "the price of the lamp is quoted in euros and it includes the tax";
  const items = Array.from({ length: 30 }, (_, i) => `- ${i} ${item}`);
  const code = Array.from({ length: 60 }, (_, i) => `    value_${i} = other_value_${i} + 1;`);
  const { passages } = await readOne(
    "a.md",
    `${items.join("\n")}\n\n\`\`\`\n${code.join("\n")}\n\`\`\`\n`,
  );
  const lines = passages.flatMap(({ text }) => text.split("\n").filter((line) => line !== ""));
  assert.equal(lines, [...items, ...code]);
});

test.run();
