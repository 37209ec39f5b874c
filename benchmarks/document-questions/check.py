"""Checks a set of questions with texts: `python3 check.py FOLDER`.

Each evidence and block stands literally in a document of its genre, each answer in an evidence
(white space aside), and `documents.jsonl` lists the documents with their checksums. Needs pandoc
for .docx and pdftotext for .pdf. Prints a line for each fault. The last line is
`N questions, N documents, N faults`.
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from forms import Record, Texts, genre_texts, read_lines
from plain_text import collapse, plain_text

KINDS = set("fact table define list how why yesno none".split())
REGISTRIES = {"npm", "pypi", "debian", "own"}
KINDS_OF_NONE = {"absent record", "near miss", "other subject"}


def texts_in(folder: Path) -> Texts:
    files = sorted(path for path in folder.glob("documents/*/*") if path.is_file())
    return {path.relative_to(folder).as_posix(): plain_text(path) for path in files}


def faults(folder: Path, texts: Texts) -> Iterator[str]:
    yield from document_faults(folder, read_lines(folder / "documents.jsonl"), texts)
    seen: set[str] = set()
    for question in read_lines(folder / "questions.jsonl"):
        if question["id"] in seen:
            yield f"{question['id']}: the id is not unique"
        seen.add(question["id"])
        yield from (f"{question['id']}: {fault}" for fault in question_faults(question, texts))


def document_faults(folder: Path, documents: list[Record], texts: Texts) -> Iterator[str]:
    listed = [document["path"] for document in documents]
    if sorted(listed) != sorted(texts):
        yield f"documents.jsonl and documents/ differ in {sorted(set(listed) ^ set(texts))}"
    for document in documents:
        path = document["path"]
        if path in texts and sha256(folder / path) != document["sha256"]:
            yield f"{path}: the checksum is another one"
        if document["registry"] not in REGISTRIES or document["url"] is not None:
            yield f"{path}: from no known registry"
        if not document["licence"]:
            yield f"{path}: no licence"


def question_faults(question: Record, texts: Texts) -> Iterator[str]:
    kind, answers, evidence = question["kind"], question["answers"], question["evidence"]
    if kind not in KINDS:
        yield f"unknown kind {kind}"
    if question["file"] not in texts:
        yield f"no file {question['file']}"
    if kind == "none":
        if answers or evidence or "block" in question:
            yield "none with an answer"
        if question.get("none", "near miss") not in KINDS_OF_NONE:
            yield f"unknown kind of none {question['none']}"
        return
    if not answers or not evidence:
        yield "no answer or no evidence"
    read = genre_texts(question, texts).values()
    for text in [*evidence, *([question["block"]] if "block" in question else [])]:
        if not any(collapse(text) in whole for whole in read):
            yield f"not in the documents: {text[:80]}"
    for answer in answers:
        if kind == "yesno":
            if answer not in ("yes", "no"):
                yield f"not yes or no: {answer}"
        elif not any(collapse(answer) in collapse(text) for text in evidence):
            yield f"not in an evidence: {answer}"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def print_faults(folder: Path, texts: Texts) -> bool:
    """Whether there are any."""
    found = list(faults(folder, texts))
    print(*found, sep="\n", end="\n" if found else "")
    count = len(read_lines(folder / "questions.jsonl"))
    print(f"{count} questions, {len(texts)} documents, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    checked = Path(sys.argv[1])
    sys.exit(print_faults(checked, texts_in(checked)))
