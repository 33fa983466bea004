"""The programs of the guide "Training from Python" run as they are printed."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "guides" / "python.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program(program, tmp_path, monkeypatch, capsys):
    if "sklearn" in program:
        pytest.importorskip("sklearn", minversion="1.6")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(program, str(GUIDE), "exec"), names)
    if "loss" in names:
        assert names["loss"].item() < 1
    if "run" in names:
        assert names["run"].model.classify("chess for two").label == "games"
