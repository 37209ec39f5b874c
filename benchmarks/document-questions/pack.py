"""Writes a set of questions with positions: `python3 pack.py FOLDER SET`.

FOLDER has the form with texts (`forms.py`), SET becomes the form with positions: `documents.jsonl`,
`questions.jsonl`, and of the documents only those of registry `own`. A FOLDER with faults
(`check.py`) is not packed. The tables in the README of the folder that has SET are written again.
The last line is that of `check.py`.
"""

import shutil
import sys
from pathlib import Path

from check import print_faults, texts_in
from forms import DOCUMENT_FIELDS, Record, read_lines, to_positions, write_lines
from readme_tables import write_tables


def pack(folder: Path, target: Path) -> bool:
    """Whether the folder has no faults."""
    texts = texts_in(folder)
    if print_faults(folder, texts):
        return False
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    documents = read_lines(folder / "documents.jsonl")
    write_lines(target / "documents.jsonl", map(without_url, documents))
    for document in documents:
        if document["registry"] == "own":
            copy = target / document["path"]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / document["path"], copy)
    questions = read_lines(folder / "questions.jsonl")
    write_lines(target / "questions.jsonl", (to_positions(one, texts) for one in questions))
    return True


def without_url(document: Record) -> Record:
    return {field: document[field] for field in DOCUMENT_FIELDS if field != "url"}


if __name__ == "__main__":
    source, packed = Path(sys.argv[1]), Path(sys.argv[2])
    if not pack(source, packed):
        sys.exit(1)
    write_tables(packed.parent)
