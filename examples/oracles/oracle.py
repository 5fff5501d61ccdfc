#!/usr/bin/env python3
"""An oracle for `tcnum probe --from 'exec:python3 oracle.py' --a fp32 --d fp32 --k 16`: it answers what NumPy computes.

Standard input and standard output carry messages: 8 bytes that hold a length, little-endian, and a safetensors file of
that length. A question has A [T, M, K], B [T, K, N] and C [T, M, N], and the answer D [T, M, N].
"""
import json
import struct
import sys

import numpy as np

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I32": np.int32, "I8": np.int8, "U8": np.uint8}


def read_message(stream):
    """The tensors by name, and the metadata; None at the end of the stream."""
    frame = stream.read(8)
    if not frame:
        return None
    message = stream.read(*struct.unpack("<Q", frame))
    begin = 8 + struct.unpack("<Q", message[:8])[0]
    header = json.loads(message[8:begin])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        data = np.frombuffer(message[begin + first:begin + last], DTYPES[entry["dtype"]])
        tensors[name] = data.reshape(entry["shape"])
    return tensors, metadata


def write_message(stream, d):
    dtype = next(name for name, each in DTYPES.items() if each == d.dtype)
    header = json.dumps({"D": {"dtype": dtype, "shape": d.shape, "data_offsets": [0, d.nbytes]}}).encode()
    message = struct.pack("<Q", len(header)) + header + d.tobytes()
    stream.write(struct.pack("<Q", len(message)) + message)
    stream.flush()


def multiply(a, b, c):
    """What is asked about."""
    return np.matmul(a, b) + c


def main():
    np.seterr(all="ignore")  # overflow and NaN are part of the question
    while (question := read_message(sys.stdin.buffer)) is not None:
        tensors, _ = question
        write_message(sys.stdout.buffer, multiply(tensors["A"], tensors["B"], tensors["C"]).astype(tensors["C"].dtype))


if __name__ == "__main__":
    main()
