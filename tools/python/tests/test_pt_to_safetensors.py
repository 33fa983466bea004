"""tools/pt_to_safetensors.py with files like those of PyTorch and fairseq. Skipped if PyTorch isn't installed."""
import argparse
import contextlib
import io
import json
import pathlib
import runpy
import struct
import sys

import pytest

torch = pytest.importorskip("torch")

SCRIPT = pathlib.Path(__file__).parents[2] / "pt_to_safetensors.py"


class Done:
    def __init__(self, returncode, stdout, stderr):
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr


def run(*arguments):
    """Runs the script in this process, which has imported torch already."""
    out, code = io.StringIO(), None
    before, sys.argv = sys.argv, [str(SCRIPT), *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(SCRIPT), run_name="__main__")
    except SystemExit as exit:
        code = exit.code
    finally:
        sys.argv = before
    return Done(code or 0, out.getvalue(), str(code or ""))


def read(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    assert (8 + size) % 8 == 0
    header.pop("__metadata__")
    return {name: (t["dtype"], t["shape"], data[8 + size :][slice(*t["data_offsets"])]) for name, t in header.items()}


def test_a_state_dict(tmp_path):
    shared = torch.arange(6.0).reshape(2, 3)
    torch.save({"turned": shared.T, "shared": shared, "half": torch.ones(3, dtype=torch.bfloat16),
                "one": torch.tensor(2.5), "none": torch.zeros(0, 3), "ids": torch.tensor([1, 2])}, tmp_path / "m.bin")
    done = run(tmp_path / "m.bin", tmp_path / "m.safetensors")
    assert done.returncode == 0, done.stderr
    made = read(tmp_path / "m.safetensors")
    assert made["turned"] == ("F32", [3, 2], struct.pack("<6f", 0, 3, 1, 4, 2, 5))
    assert made["shared"] == ("F32", [2, 3], struct.pack("<6f", 0, 1, 2, 3, 4, 5))
    assert made["half"] == ("BF16", [3], b"\x80\x3f" * 3)
    assert made["one"] == ("F32", [], struct.pack("<f", 2.5))
    assert made["none"] == ("F32", [0, 3], b"")
    assert made["ids"] == ("I64", [2], struct.pack("<2q", 1, 2))


@pytest.mark.parametrize("place", ["args", "cfg.model"])
def test_arguments(tmp_path, place):
    arguments = argparse.Namespace(act_fun="silu", gamma=0.99, betas=(0.9, 0.98), endless=float("inf"))
    file = {"model": {"w": torch.ones(2)}, "args": None, "cfg": {"model": None}, "extra_state": {"epoch": 3}}
    if place == "args":
        file["args"] = arguments
    else:
        file["cfg"]["model"] = arguments
    torch.save(file, tmp_path / "m.pt")
    target = tmp_path / "tnn" / "model.safetensors"
    target.parent.mkdir()
    done = run("--key", "model", "--config", place, tmp_path / "m.pt", target)
    assert done.returncode == 0, done.stderr
    assert list(read(target)) == ["w"]
    config = json.loads((tmp_path / "tnn" / "config.json").read_text())
    assert config == {"act_fun": "silu", "gamma": 0.99, "betas": [0.9, 0.98]}
    assert "without endless" in done.stdout
    assert "already exists" in run("--key", "model", "--config", place, tmp_path / "m.pt", target).stderr


def test_what_it_refuses(tmp_path):
    torch.save({"model": {"w": torch.ones(2)}, "step": 3}, tmp_path / "m.pt")
    assert ("expected only tensors, but also got model, step; if one of these is the state dict" in
            run(tmp_path / "m.pt", tmp_path / "x").stderr)
    assert ('expected the key "net" in the file, got model, step' in
            run("--key", "net", tmp_path / "m.pt", tmp_path / "x").stderr)
    torch.save(torch.nn.Linear(2, 2), tmp_path / "whole.pt")
    assert ("contains a torch.nn.modules.linear.Linear, which is not loaded for safety" in
            run(tmp_path / "whole.pt", tmp_path / "x").stderr)
    (tmp_path / "text.pt").write_text("hello")
    assert "expected a PyTorch file" in run(tmp_path / "text.pt", tmp_path / "x").stderr
    assert "No such file" in run(tmp_path / "missing.pt", tmp_path / "x").stderr
    torch.save({"c": torch.ones(2, dtype=torch.complex64)}, tmp_path / "c.pt")
    assert "safetensors has no such type" in run(tmp_path / "c.pt", tmp_path / "x").stderr
    assert not (tmp_path / "x").exists()
