#!/bin/sh
# installed.sh FOLDER
# Tries the installed Debian packages: the command, pkg-config, find_package, the static library and the Python module.
# FOLDER holds tests/embed. tools/packaging/deb runs this script in a fresh system, which has only these packages, their
# dependencies, and g++, cmake, make and pkg-config.
set -eux
programs=$(mktemp -d)
cd "$1"

weft --version
seq 2000 >text.txt
weft train --arch gmlp --text text.txt --layers 1 --d-model 16 --seq-len 16 --batch 8 --steps 6 --out run
weft generate run --prompt 12 --tokens 20
weft info run

# shellcheck disable=SC2046
g++ -std=c++17 main.cpp -o "$programs/linked" $(pkg-config --cflags --libs weft)
"$programs/linked" run/last 12
# shellcheck disable=SC2046
gcc -std=c99 main.c -o "$programs/static" -l:libweft.a $(pkg-config --static --cflags --libs weft | sed 's/-lweft//')
"$programs/static" run/last 12
[ -z "$(ldd "$programs/static" | grep libweft)" ]

cmake -S . -B "$programs/found"
cmake --build "$programs/found"
"$programs/found/consumer" run/last 12
"$programs/found/c_consumer" run/last 12

python3 -c 'import weft
print(weft.__version__, "".join(weft.load("run").generate("12", tokens=20)))
print(weft.train(["one apple", "one hammer"] * 20, ["fruit", "tool"] * 20, arch="fnet", layers=1, d_model=16,
                 steps=20, out="rows").model.classify("one hammer"))'
[ -s /usr/share/bash-completion/completions/weft ]
[ -s /usr/share/doc/libweft-dev/copyright ]
