"""Tables of the sets of a folder in its README, between `<!-- sets -->` and `<!-- /sets -->`."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from forms import Record, read_lines

GENRES = "library python manual manpages changes policy standards company tables science".split()
KINDS = "fact table define list how why yesno none".split()


def write_tables(folder: Path) -> None:
    sets = {path.parent.name: path.parent for path in sorted(folder.glob("*/questions.jsonl"))}
    questions = {name: read_lines(path / "questions.jsonl") for name, path in sets.items()}
    documents = {name: read_lines(path / "documents.jsonl") for name, path in sets.items()}
    text = "\n\n".join(
        [
            counts("genre", GENRES, questions),
            counts("kind", KINDS, questions),
            packages(documents),
        ]
    )
    readme = folder / "README.md"
    marked = re.compile(r"(?<=<!-- sets -->\n\n).*?(?=\n\n<!-- /sets -->)", re.DOTALL)
    before = readme.read_text(encoding="utf-8")
    readme.write_text(marked.sub(lambda _: text, before), encoding="utf-8")


def counts(field: str, values: list[str], questions: dict[str, list[Record]]) -> str:
    of = {name: Counter(one[field] for one in records) for name, records in questions.items()}
    return table(
        [field, *of],
        [
            *([value, *(count[value] for count in of.values())] for value in values),
            ["all", *(count.total() for count in of.values())],
        ],
    )


def packages(documents: dict[str, list[Record]]) -> str:
    rows = Counter(
        (one["registry"], one["package"], one["version"], one["licence"], name)
        for name, records in documents.items()
        for one in records
    )
    return table(
        ["registry", "package", "version", "licence", "set", "documents"],
        [[*row, count] for row, count in sorted(rows.items())],
    )


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    lines = [" | ".join(map(str, row)) for row in [head, *rows]]
    rule = "---|" * len(lines[0].split(" | "))
    return "\n".join([f"| {lines[0]} |", f"|{rule}", *(f"| {line} |" for line in lines[1:])])
