"""The plain text of a document, in which positions count.

Markdown, reStructuredText and HTML lose their marks, and white space is collapsed. Word documents
are read by `pandoc`, PDF by `pdftotext`. Other files are taken as they are.
"""

import html
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

Marks = list[tuple[re.Pattern[str], str]]


def plain_text(path: Path) -> str:
    """Raises OSError or CalledProcessError if a document cannot be read."""
    return collapse(READERS.get(path.suffix, decoded)(path))


def collapse(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def decoded(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def printed_by(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


def without(marks: Marks, text: str) -> str:
    for pattern, kept in marks:
        text = pattern.sub(kept, text)
    return text


TAGS_IN_MARKDOWN = (
    "a|img|p|div|sub|sup|br|details|summary|b|i|em|strong|kbd|h\\d|code|table|tr|td|th|ul|li"
)
MARKDOWN_LINKS_AND_TAGS: Marks = [
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),  # pictures
    (re.compile(r'\[([^\]]+)\]\([^)\s]*(?:\s+"[^"]*")?\)'), r"\1"),  # [text](address "title")
    (re.compile(r"\[([^\]]+)\]\[[^\]]*\]"), r"\1"),  # [text][name]
    (re.compile(rf"</?(?:{TAGS_IN_MARKDOWN})\b[^>]*>", re.IGNORECASE), ""),
]
MARKDOWN_MARKS: Marks = [
    (re.compile(r"\*\*|__|(?<![\w`])\*(?=\S)|(?<=\S)\*(?![\w`])"), ""),  # emphasis
    (re.compile("`"), ""),
    (re.compile(r"^#+\s*", re.MULTILINE), ""),
    (re.compile(r"^>\s?", re.MULTILINE), ""),
]
RST_MARKS: Marks = [
    (re.compile(r":[\w:+-]+:`~?!?([^`<]*?)\s*(?:<[^`]*>)?`"), r"\1"),  # :role:`text <target>`
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?"), r"\1"),  # `text <address>`_
    (re.compile(r"`|\*\*"), ""),
]
OVERSTRIKES: Marks = [(re.compile(".\b"), "")]


def markdown_text(path: Path) -> str:
    text = html.unescape(without(MARKDOWN_LINKS_AND_TAGS, decoded(path)))
    return without(MARKDOWN_MARKS, text)


def html_text(path: Path) -> str:
    page = Page()
    page.feed(decoded(path))
    return "".join(page.pieces)


class Page(HTMLParser):
    """The texts of a page without scripts, styles and the head; cells have ` | ` before them."""

    HIDDEN = {"script", "style", "head"}
    CELLS = {"td", "th"}
    BLOCKS = set(
        "article blockquote br caption dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table "
        "tbody thead tr ul".split()
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden = 0  # open elements that are not shown

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self.HIDDEN:
            self.hidden += 1
        elif tag in self.BLOCKS:
            self.pieces.append("\n")
        elif tag in self.CELLS:
            self.pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag in self.BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self.hidden == 0:
            self.pieces.append(data)


READERS = {
    ".docx": lambda path: printed_by("pandoc", "-t", "plain", "--wrap=none", str(path)),
    ".html": html_text,
    ".md": markdown_text,
    ".pdf": lambda path: printed_by("pdftotext", "-layout", str(path), "-"),
    ".rst": lambda path: without(RST_MARKS, decoded(path)),
    ".txt": lambda path: without(OVERSTRIKES, decoded(path)),
}
