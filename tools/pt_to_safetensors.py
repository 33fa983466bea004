#!/usr/bin/env python3
"""Converts a PyTorch file (.pt, .pth, .bin) to a safetensors file, which weft can read. Needs only PyTorch.

tools/pt_to_safetensors.py pytorch_model.bin model.safetensors
tools/pt_to_safetensors.py --key model checkpoint.pt model.safetensors     # the state dict in a larger checkpoint
tools/pt_to_safetensors.py --key model --config args old.pt tnn/model.safetensors  # for fairseq

Newer versions of fairseq need --config cfg.model. Files are read with weights_only, so that no code in them runs.
Tensors that share memory are written separately. --config writes the arguments to config.json in the target's folder.
Existing files are replaced only with --overwrite.
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
        torch.serialization.add_safe_globals([argparse.Namespace])  # the type of fairseq's arguments
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror or error}")
    except Exception as error:  # PyTorch raises various exceptions for other kinds of files
        found = re.search(r"GLOBAL (\S+)", str(error))
        if not found:
            sys.exit(f"{path}: expected a PyTorch file, got a damaged file or another format")
        sys.exit(f"{path} contains a {found[1]}, which is not loaded for safety. On a machine that has this class, "
                 "save only the state dict: torch.save(model.state_dict(), FILE)")


def find(state, keys):
    """Returns the value at the keys a, b, … of nested dictionaries, or of a Namespace of arguments."""
    for key in keys:
        inside = vars(state) if isinstance(state, argparse.Namespace) else state
        if not isinstance(inside, dict) or key not in inside:
            what = ", ".join(map(str, inside)) if isinstance(inside, dict) else type(inside).__name__
            sys.exit(f"expected the key \"{key}\" in the file, got {what}")
        state = inside[key]
    return state


def config_of(arguments):
    """Returns the arguments that JSON can represent, and the names of the others."""
    given = vars(arguments) if isinstance(arguments, argparse.Namespace) else arguments
    if not isinstance(given, dict):
        sys.exit(f"expected arguments in a dictionary or a Namespace, got {type(given).__name__}")
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
        sys.exit(f"expected only tensors, but also got {', '.join(others[:12])}; if one of these is the state dict, "
                 "name it with --key NAME")
    return {str(name): dense(str(name), value) for name, value in state.items()}


def dense(name, tensor):
    """Returns a contiguous tensor on the CPU. Conjugated and negated views are replaced with their values."""
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "quantized" if tensor.is_quantized else "without values" if tensor.is_meta else tensor.layout
        sys.exit(f"{name} is {str(kind).removeprefix('torch.')}: safetensors has only dense tensors")
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def put(writers):
    """Calls each writer with a temporary file in the folder of its path, and then renames all files.

    Thus an existing file is never lost or truncated.
    """
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
    """Returns a function that writes the tensors to a file."""
    import torch

    header, begin = {"__metadata__": {"format": "pt"}}, 0
    order = sorted(tensors.items(), key=lambda item: -item[1].element_size())  # aligns each tensor to its element size
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
    parser.add_argument("--key", action="append", default=[],
                        help="key of the state dict in the file; repeat it for nested keys")
    parser.add_argument("--config", metavar="KEY", help="key of the arguments in the file: args or cfg.model")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing target or config.json")
    options = parser.parse_args()
    config_path = os.path.join(os.path.dirname(options.target), "config.json")
    for path in [options.target] + ([config_path] if options.config else []):
        if os.path.lexists(path) and not options.overwrite:
            sys.exit(f"{path} already exists: --overwrite replaces it")
        if os.path.isdir(path):
            sys.exit(f"expected a file, got the folder {path}")
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
        told.append(f"{config_path}: {len(config)} arguments" +
                    (f", without {', '.join(left_out)}" if left_out else ""))
    put(writers)
    print("\n".join(told))


if __name__ == "__main__":
    main()
