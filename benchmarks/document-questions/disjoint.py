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
FOLDERS = {"dev": [HERE / "dev"], "test": [HERE / "test"], "training": sorted(TRAINING.glob("*/"))}


def packages() -> dict[str, set[str]]:
    """The parts that each package is in."""
    parts: dict[str, set[str]] = defaultdict(set)
    for part, folders in FOLDERS.items():
        for folder in folders:
            for document in read_lines(folder / "documents.jsonl"):
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
