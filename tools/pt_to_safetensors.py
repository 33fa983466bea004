#!/usr/bin/env python3
"""Turns a PyTorch file (.pt, .pth, .bin) into a safetensors file, which weft reads. Needs PyTorch, nothing else.

tools/pt_to_safetensors.py pytorch_model.bin model.safetensors
tools/pt_to_safetensors.py --key model checkpoint.pt model.safetensors     # the state dict in a larger checkpoint

Files are read with weights_only: nothing in them is run. Tensors that share their memory are written each for itself.
"""
import argparse
import json
import struct
import sys

NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def find(state, keys):
    for key in keys:
        if not isinstance(state, dict) or key not in state:
            sys.exit(f"no \"{key}\" in the file: {', '.join(map(str, state)) if isinstance(state, dict) else state}")
        state = state[key]
    return state


def tensors_of(state):
    import torch

    others = [str(name) for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if others:
        sys.exit(f"not tensors: {', '.join(others[:12])}; if one of them is the state dict, say so: --key NAME")
    return {str(name): value.detach().cpu().contiguous() for name, value in state.items()}


def write(path, tensors):
    import torch

    header, begin = {"__metadata__": {"format": "pt"}}, 0
    order = sorted(tensors.items(), key=lambda item: -item[1].element_size())  # each is aligned to its elements
    for name, tensor in order:
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in NAMES:
            sys.exit(f"{name} is {dtype}: safetensors has no such type")
        end = begin + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in order:
            file.write(bytes(tensor.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--key", action="append", default=[], help="where in the file the state dict is; may be repeated")
    options = parser.parse_args()
    import torch

    state = find(torch.load(options.source, map_location="cpu", weights_only=True), options.key)
    if not isinstance(state, dict):
        sys.exit(f"expected a state dict, got {type(state).__name__}")
    tensors = tensors_of(state)
    write(options.target, tensors)
    print(f"{options.target}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
