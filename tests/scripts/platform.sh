#!/usr/bin/env bash
# In the library, only engine/system/ includes headers of the operating system or tests for one. Prints the other lines.
# usage: platform.sh SOURCE_DIR
set -euo pipefail
cd "$1"
headers='^#include <(sys/|linux/|unistd|fcntl|pthread|sched|signal|dlfcn|link|poll|termios|windows)'
platforms='\b(__linux__|__unix__|__APPLE__|_WIN32|__EMSCRIPTEN__)\b'
! grep -rnE "$headers|$platforms" engine ops models --include='*.h' --include='*.cpp' |
  grep -vE '^(engine/system|models/examples)/'
