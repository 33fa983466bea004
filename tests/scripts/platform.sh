#!/usr/bin/env bash
# Only engine/system/ and tools/system/ include headers of the operating system or contain tests for one. Prints the
# other lines. The exceptions in tools/ are compiled only for POSIX: the files of weft serve that use sockets and
# signals of threads, and the file that loads the module for mpirun.
# usage: platform.sh SOURCE_DIR
set -euo pipefail
cd "$1"
names='sys/|linux/|unistd|fcntl|pthread|sched|signal|dlfcn|link|poll|termios'
names="$names|netinet/|arpa/|netdb|windows|winsock|io[.]h"
headers="^ *# *include *<($names)"
platforms='\b(__linux__|__unix__|__APPLE__|_WIN32|_MSC_VER|__MINGW32__|__EMSCRIPTEN__)\b'
! grep -rnE "$headers|$platforms" engine ops models tools --include='*.h' --include='*.cpp' --include='*.in' |
  grep -vE '^(engine/system|models/examples|tools/system)/|^tools/(serve/(peer|signals)|console/ranks)[.]cpp:'
