"""The two forms of a set of questions: with texts, and with positions in their place.

With texts, a folder has `questions.jsonl`, `documents.jsonl` and `documents/GENRE/FILE`. `answers`,
`evidence` and `block` are texts. With positions, as the repository has it,

    evidence, block   [begin, end, sha], or [file, begin, end, sha] in another document of the genre
    answers           [evidence, begin, end]: which evidence, from 0, and where in it; or yes, no

Positions count characters (Unicode code points) of `plain_text`, `end` excluded. `sha` is the first
eight hexadecimal digits of SHA-256 of the piece in UTF-8.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from plain_text import collapse

Record = dict
Texts = dict[str, str]  # path of a document -> plain text
# The order of a record; `block` and `none` are of training sets.
QUESTION_FIELDS = "id genre kind question answers evidence block none file paraphrased".split()
# `url` is null in the form with texts and missing in the other: documents come from packages.
DOCUMENT_FIELDS = "path registry package version file url licence sha256".split()


class Differs(Exception):
    """A document has another text at a position."""


def read_lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, records: Iterable[Record]) -> None:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")


def ordered(question: Record) -> Record:
    return {field: question[field] for field in QUESTION_FIELDS if field in question}


def genre_texts(question: Record, texts: Texts) -> Texts:
    """The documents of the genre, the one that the question was written from first."""
    own = {question["file"]: texts[question["file"]]} if question["file"] in texts else {}
    folder = f"documents/{question['genre']}/"
    return own | {path: text for path, text in texts.items() if path.startswith(folder)}


def to_positions(question: Record, texts: Texts) -> Record:
    """Needs a question without faults (`check.py`)."""
    evidence = [collapse(text) for text in question["evidence"]]
    placed = question | {
        "answers": [answer_in(one, evidence, question["kind"]) for one in question["answers"]],
        "evidence": [position(text, question, texts) for text in evidence],
    }
    if "block" in question:
        placed["block"] = position(collapse(question["block"]), question, texts)
    return ordered(placed)


def to_texts(question: Record, texts: Texts) -> Record:
    evidence = [piece(place, question, texts) for place in question["evidence"]]
    told = question | {
        "answers": [
            answer if isinstance(answer, str) else evidence[answer[0]][answer[1] : answer[2]]
            for answer in question["answers"]
        ],
        "evidence": evidence,
    }
    if "block" in question:
        told["block"] = piece(question["block"], question, texts)
    return ordered(told)


def answer_in(answer: str, evidence: list[str], kind: str) -> str | list[int]:
    if kind == "yesno":
        return answer
    wanted = collapse(answer)
    which = next(i for i, text in enumerate(evidence) if wanted in text)
    begin = evidence[which].index(wanted)
    return [which, begin, begin + len(wanted)]


def position(text: str, question: Record, texts: Texts) -> list:
    read = genre_texts(question, texts)
    path = next(path for path, whole in read.items() if text in whole)
    begin = read[path].index(text)
    file = [] if path == question["file"] else [path]
    return [*file, begin, begin + len(text), checksum(text)]


def piece(place: list, question: Record, texts: Texts) -> str:
    *file, begin, end, sha = place
    path = file[0] if file else question["file"]
    text = texts[path][begin:end]
    if checksum(text) != sha:
        raise Differs(f"{path} has another text from character {begin} to {end}")
    return text


def files_of(question: Record) -> set[str]:
    """The documents that a question with positions needs."""
    places = [*question["evidence"], *([question["block"]] if "block" in question else [])]
    return {question["file"], *(place[0] for place in places if isinstance(place[0], str))}


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
