"""The command weft of the package. Skipped if the package was built without it."""
import subprocess
import sysconfig
from pathlib import Path

import pytest

import weft

if not hasattr(weft._weft, "run_command"):
    pytest.skip("this build of the package has no command", allow_module_level=True)

COMMAND = Path(sysconfig.get_path("scripts")) / "weft"


def run(*arguments, **options):
    return subprocess.run([COMMAND, *arguments], capture_output=True, **options)


def test_version():
    assert run("--version").stdout.decode().strip() == f"weft {weft.__version__}"


def test_training_and_answers(tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("".join(f"oil\tOil prices soar {i}\ngoal\tA late goal {i}\n" for i in range(8)))
    sizes = ("--set", "layers=1", "--set", "d_model=16", "--epochs", "2")
    trained = run("train", "--data", rows, "--arch", "fnet", *sizes, "--out", tmp_path / "run")
    assert trained.returncode == 0, trained.stderr
    answered = run("classify", tmp_path / "run", input=b"A late goal\n")
    assert answered.returncode == 0, answered.stderr
    assert answered.stdout.decode().split("\t")[0] == weft.load(tmp_path / "run").classify("A late goal").label


def test_errors():
    wrong = run("train", "--no-such-option")
    assert wrong.returncode == 2
    assert b"--no-such-option" in wrong.stderr


def test_arguments_are_bytes():
    wrong = run("info", b"\xff\xfe")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(b"weft: ")


def test_a_closed_pipe_ends_the_command():
    with subprocess.Popen([COMMAND, "help", "train"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait() < 0  # SIGPIPE, as for other programs
