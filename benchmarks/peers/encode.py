"""Encodes the texts of `benchmarks/bench/peer-encoders.ts` with onnxruntime.

    encode.py TASK.json

Prints `{"seconds", "megabytes", "tokens", "version"}`: processor time with the tokenizer, peak
memory, and tokens without padding.
"""

import json
import sys
import time

import numpy
import onnxruntime
import tokenizers
from memory import peak_megabytes


def batches(lengths, tokens):
    """Places of texts of similar length, longest first: as reatt groups them."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    start = 0
    while start < len(order):
        size = max(1, tokens // lengths[order[start]])
        yield order[start : start + size]
        start += size


def encode(session, encoded, tokens):
    for places in batches([len(one.ids) for one in encoded], tokens):
        length = max(len(encoded[place].ids) for place in places)
        ids = numpy.zeros((len(places), length), dtype=numpy.int64)
        mask = numpy.zeros_like(ids)
        for row, place in enumerate(places):
            one = encoded[place].ids
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        types = numpy.zeros_like(ids)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        session.run(["last_hidden_state"], inputs)


def main():
    with open(sys.argv[1]) as file:
        task = json.load(file)
    tokenizer = tokenizers.Tokenizer.from_file(f"{task['model']}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(task["maxTokens"])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{task['model']}/onnx/model_quantized.onnx", options)
    start = time.process_time()
    encoded = [tokenizer.encode(text) for text in task["texts"]]
    encode(session, encoded, task["tokensPerBatch"])
    seconds = time.process_time() - start
    report = {"seconds": seconds, "megabytes": peak_megabytes()}
    tokens = sum(len(one.ids) for one in encoded)
    print(json.dumps({**report, "tokens": tokens, "version": onnxruntime.__version__}))


main()
