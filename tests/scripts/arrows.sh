#!/usr/bin/env bash
# Folders within a module include each other in one direction only. Prints the folders of a cycle.
# usage: arrows.sh SOURCE_DIR
set -euo pipefail
cd "$1"
failed=0
for room in engine ops models tools; do
  arrows=$(grep -rHoE '^#include "[a-z0-9_]+/' "$room" --include='*.h' --include='*.cpp' |
    sed -nE "s#^$room/([a-z0-9_]+)/[^:]*:\#include \"([a-z0-9_]+)/#\1 \2#p" | sort -u |
    while read -r from to; do [ "$from" = "$to" ] || [ ! -d "$room/$to" ] || echo "$from $to"; done)
  if ! printf '%s\n' "$arrows" | tsort >/dev/null 2>&1; then
    printf '%s: folders include each other in a circle:\n%s\n' "$room" "$(printf '%s\n' "$arrows" | tsort 2>&1 >/dev/null)"
    failed=1
  fi
done
exit $failed
