#!/usr/bin/env python3
"""Turns a PyTorch file (.pt, .pth, .bin) into a safetensors file, which weft reads. Needs PyTorch, nothing else.

tools/pt_to_safetensors.py pytorch_model.bin model.safetensors
tools/pt_to_safetensors.py --key model checkpoint.pt model.safetensors     # the state dict in a larger checkpoint
tools/pt_to_safetensors.py --key model --config args checkpoint.pt tnn/model.safetensors    # of fairseq; newer: cfg.model

Files are read with weights_only: nothing in them is run. Tensors that share their memory are written each for itself.
--config writes the arguments there as a config.json beside the target. What is there already stays, unless --overwrite is given.
"""
import argparse
import json
import os
import re
import struct
import sys
import tempfile

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


def config_of(arguments):
    """What of them JSON has a value for, and the names of the others."""
    given = vars(arguments) if isinstance(arguments, argparse.Namespace) else arguments
    if not isinstance(given, dict):
        sys.exit(f"expected arguments, a dictionary or a Namespace, got {type(given).__name__}")
    config, left_out = {}, []
    for name, value in given.items():
        try:
            config[str(name)] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            left_out.append(str(name))
    return config, left_out


def tensors_of(state):
    import torch

    others = [str(name) for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if others:
        sys.exit(f"not tensors: {', '.join(others[:12])}; if one of them is the state dict, say so: --key NAME")
    return {str(name): dense(str(name), value) for name, value in state.items()}


def dense(name, tensor):
    """In its own memory, as it looks: conjugated and negated views are made so."""
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "quantized" if tensor.is_quantized else "without values" if tensor.is_meta else tensor.layout
        sys.exit(f"{name} is {str(kind).removeprefix('torch.')}: safetensors has dense tensors alone")
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def put(writers):
    """Calls each with a file beside its path; then all take their places: no old one is lost, no new one is cut off."""
    made = []
    try:
        for path, write_to in writers.items():
            handle, beside = tempfile.mkstemp(prefix=".weft-", suffix=".tmp", dir=os.path.dirname(path) or ".")
            made.append(beside)
            with open(handle, "wb") as file:
                write_to(file)
                file.flush()
                os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        for path, beside in zip(writers, made):
            os.chmod(beside, 0o666 & ~mask)
            os.replace(beside, path)
    except OSError as error:
        sys.exit(f"can't write {path}: {error.strerror or error}")
    finally:
        for beside in made:
            if os.path.exists(beside):
                os.unlink(beside)


def writer_of(tensors):
    """What writes them into a file."""
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

    def write(file):
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in order:
            if tensor.numel():
                file.write(tensor.reshape(-1).view(torch.uint8).numpy().data)

    return write


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--key", action="append", default=[], help="where in the file the state dict is; may be repeated")
    parser.add_argument("--config", metavar="KEY", help="where in the file the arguments are: args, cfg.model")
    parser.add_argument("--overwrite", action="store_true", help="replace a target, or a config.json, that is there")
    options = parser.parse_args()
    config_path = os.path.join(os.path.dirname(options.target), "config.json")
    for path in [options.target] + ([config_path] if options.config else []):
        if os.path.lexists(path) and not options.overwrite:
            sys.exit(f"{path} is there already: --overwrite replaces it")
        if os.path.isdir(path):
            sys.exit(f"{path} is a folder: name a file")
    file = load(options.source)
    state = find(file, options.key)
    if not isinstance(state, dict):
        sys.exit(f"expected a state dict, got {type(state).__name__}")
    tensors = tensors_of(state)
    writers = {options.target: writer_of(tensors)}
    told = [f"{options.target}: {len(tensors)} tensors"]
    if options.config:
        config, left_out = config_of(find(file, options.config.split(".")))
        writers[config_path] = lambda to: to.write(json.dumps(config, indent=2).encode())
        told.append(f"{config_path}: {len(config)} arguments" + (f", without {', '.join(left_out)}" if left_out else ""))
    put(writers)
    print("\n".join(told))


if __name__ == "__main__":
    main()
