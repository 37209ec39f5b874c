"""Checks that no package is in two of dev, test and training: `python3 disjoint.py`.

Names are compared without regard to registry and case. No name begins with n to z (a scope counts
without its `@`): packages of these letters are kept for judging. Made-up companies, of registry
`own`, have no package. The last line is `N packages, N faults`.
"""

import sys
from collections import defaultdict
from pathlib import Path

from forms import read_lines

HERE = Path(__file__).parent
TRAINING = HERE.parents[1] / "recipes/reatt-mini/document-questions"
LISTS = {
    "dev": [HERE / "dev/documents.jsonl"],
    "test": [HERE / "test/documents.jsonl"],
    "training": sorted(TRAINING.glob("*/documents.jsonl")),
}


def packages() -> dict[str, set[str]]:
    """The parts that each package is in."""
    parts: dict[str, set[str]] = defaultdict(set)
    for part, lists in LISTS.items():
        for file in lists:
            for document in read_lines(file):
                if document["registry"] != "own":
                    parts[document["package"].lower()].add(part)
    return parts


if __name__ == "__main__":
    found = packages()
    faults = [
        f"{name} is in {' and '.join(sorted(parts))}"
        for name, parts in found.items()
        if len(parts) > 1
    ]
    faults += [
        f"{name} does not begin with a to m"
        for name in found
        if not "a" <= name.removeprefix("@")[0] <= "m"
    ]
    print(*sorted(faults), sep="\n", end="\n" if faults else "")
    print(f"{len(found)} packages, {len(faults)} faults")
    sys.exit(bool(faults))
