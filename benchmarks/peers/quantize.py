"""Writes all-MiniLM-L6-v2 in int8, as `quantize_dynamic` of onnxruntime makes it per channel.

    quantize.py MODEL.onnx OUT.onnx
"""

import sys

from onnxruntime.quantization import QuantType, quantize_dynamic

model, out = sys.argv[1:]
quantize_dynamic(model, out, per_channel=True, weight_type=QuantType.QInt8)
