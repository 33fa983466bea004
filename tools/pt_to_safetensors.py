#!/usr/bin/env python3
"""Turns a PyTorch file (.pt, .pth, .bin) into a safetensors file, which weft reads. Needs PyTorch, nothing else.

tools/pt_to_safetensors.py pytorch_model.bin model.safetensors
tools/pt_to_safetensors.py --key model checkpoint.pt model.safetensors     # the state dict in a larger checkpoint
tools/pt_to_safetensors.py --key model --config args checkpoint.pt tnn/model.safetensors    # of fairseq; newer: cfg.model

Files are read with weights_only: nothing in them is run. Tensors that share their memory are written each for itself.
--config writes the arguments there as a config.json beside the target.
"""
import argparse
import json
import os
import re
import struct
import sys

NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def load(path):
    import torch

    if hasattr(torch.serialization, "add_safe_globals"):  # PyTorch 2.4
        torch.serialization.add_safe_globals([argparse.Namespace])  # as fairseq keeps its arguments
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror or error}")
    except Exception as error:  # of a file that is something else PyTorch gives any
        found = re.search(r"GLOBAL (\S+)", str(error))
        if not found:
            sys.exit(f"{path} isn't a file of PyTorch's, or is damaged")
        sys.exit(f"{path} has a {found[1]} in it, which isn't made: where that is known, "
                 "save the state dict alone, torch.save(model.state_dict(), FILE)")


def find(state, keys):
    """What is at a, then b, …: in a dictionary, or in a Namespace of arguments."""
    for key in keys:
        inside = vars(state) if isinstance(state, argparse.Namespace) else state
        if not isinstance(inside, dict) or key not in inside:
            what = ", ".join(map(str, inside)) if isinstance(inside, dict) else type(inside).__name__
            sys.exit(f"no \"{key}\" in the file, there is {what}")
        state = inside[key]
    return state


def write_config(path, arguments):
    """What of them JSON has a value for."""
    if os.path.exists(path):
        sys.exit(f"{path} is there already: remove it, or choose another folder")
    given = vars(arguments) if isinstance(arguments, argparse.Namespace) else arguments
    if not isinstance(given, dict):
        sys.exit(f"expected arguments, a dictionary or a Namespace, got {type(given).__name__}")
    config, left_out = {}, []
    for name, value in given.items():
        try:
            config[str(name)] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            left_out.append(str(name))
    with open(path, "w") as file:
        json.dump(config, file, indent=2)
    print(f"{path}: {len(config)} arguments" + (f", without {', '.join(left_out)}" if left_out else ""))


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
    parser.add_argument("--config", metavar="KEY", help="where in the file the arguments are: args, cfg.model")
    options = parser.parse_args()
    file = load(options.source)
    state = find(file, options.key)
    if not isinstance(state, dict):
        sys.exit(f"expected a state dict, got {type(state).__name__}")
    tensors = tensors_of(state)
    if options.config:
        arguments = find(file, options.config.split("."))
        write_config(os.path.join(os.path.dirname(options.target), "config.json"), arguments)
    write(options.target, tensors)
    print(f"{options.target}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
