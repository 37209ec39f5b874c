"""Builds and searches an index of fast-plaid or xtr-warp-rs over the token vectors of
`benchmarks/bench/peers.ts`.

    search.py fast-plaid|xtr-warp-rs build|search TASK.json

Prints `{"seconds", "megabytes", "found", "version"}`: processor time, peak memory, and the
passages of each question, best first.
"""

import importlib.metadata
import json
import sys
import time

import numpy
import torch
from memory import peak_megabytes


def vectors(path, counts, dimension):
    """Tensors [count, dimension] of a file of float32 values."""
    values = torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32).reshape(-1, dimension))
    return list(torch.split(values, counts))


def opened(peer, index):
    if peer == "fast-plaid":
        from fast_plaid.search import FastPlaid

        return FastPlaid(index, device="cpu")
    from xtr_warp.search import XTRWarp

    return XTRWarp(index)


def build(peer, task):
    keys = vectors(task["keys"], task["keyCounts"], task["dimension"])
    index = opened(peer, task["index"])
    start = time.process_time()
    if peer == "fast-plaid":
        index.create(keys, nbits=task["bits"])
    else:
        index.create(keys, device="cpu", nbits=task["bits"], show_progress=False)
    return time.process_time() - start, []


def search(peer, task):
    """The first ten questions before all, so that files are read and pages mapped."""
    questions = vectors(task["questions"], task["questionCounts"], task["dimension"])
    index = opened(peer, task["index"])
    options = {"top_k": task["topK"], "show_progress": False}
    probes = task["options"].get("probes")
    if peer == "fast-plaid":
        if probes is not None:
            options["n_ivf_probe"] = probes
    else:
        index.load("cpu")
        if probes is not None:
            options["nprobe"] = probes
    for question in questions[:10]:
        index.search([question], **options)
    start = time.process_time()
    found = [index.search([question], **options)[0] for question in questions]
    seconds = time.process_time() - start
    return seconds, [[passage for passage, _ in hits] for hits in found]


def main():
    peer, work, path = sys.argv[1:]
    with open(path) as file:
        task = json.load(file)
    torch.set_num_threads(1)
    seconds, found = {"build": build, "search": search}[work](peer, task)
    report = {"seconds": seconds, "megabytes": peak_megabytes(), "found": found}
    print(json.dumps({**report, "version": importlib.metadata.version(peer)}))


main()
