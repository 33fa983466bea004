#!/bin/sh
# wheel.sh FOLDER
# Installs the wheel in FOLDER, without the network, and runs the tests of the Python package. FOLDER also holds the
# tests and what they read. tools/check wheels runs this script in a fresh system, which has Python, numpy and pytest,
# but no compiler.
set -eux
cd "$1"
for compiler in cc c++ gcc g++ clang; do
  if command -v $compiler; then exit 1; fi
done
python3 -m venv --system-site-packages env
env/bin/pip install --no-index weft-*.whl
env/bin/weft --version
env/bin/python -m pytest -q -p no:cacheprovider tools/python/tests
