#!/usr/bin/env bash
# Compares quoted code with its source. If the last line above a fenced block of a page ends with a colon and names a
# file of models/examples/ or tests/embed/ in backquotes, the block quotes that file: its lines must all occur there in
# that order, with any indentation. Lines between them may be left out. Empty lines don't count, nor do lines with only
# …, in a comment or not.
# usage: quotes.sh SOURCE_DIR [PAGE...]
set -euo pipefail
cd "$1"
shift
[ $# -gt 0 ] || set -- README.md $(find . -maxdepth 1 -name CONTRIBUTING.md) $(find engine ops models tools tests bench -name README.md -o -path 'tools/guides/*.md')

awk '
  function trim(line) { gsub(/^[ \t]+|[ \t\r]+$/, "", line); return line }
  function complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; failed = 1 }
  FNR == 1 { in_block = 0; above = "" }
  /^ *```/ && !in_block {
    in_block = 1
    file = ""
    if (above ~ /`(models\/examples|tests\/embed)\/[^`]+`.*:$/) {
      file = above
      sub(/.*`models\/examples\//, "models/examples/", file)
      sub(/.*`tests\/embed\//, "tests/embed/", file)
      sub(/`.*/, "", file)
      ++quotes[FILENAME]
      count = 0
      while ((getline line < file) > 0) source[++count] = trim(line)
      close(file)
      if (count == 0) complain("there is no " file)
      at = 0
    }
    next
  }
  /^ *```/ { in_block = 0; above = ""; next }
  in_block && file != "" {
    line = trim($0)
    if (line == "" || line ~ /^(\/\/|#)? ?…$/) next
    for (next_at = at + 1; next_at <= count && source[next_at] != line; ++next_at);
    if (next_at > count) complain("not in " file (at > 0 ? " below its line " at : "") ": " line)
    else at = next_at
    next
  }
  !in_block && trim($0) != "" { above = trim($0) }
  END {
    if (!("README.md" in quotes) && ARGV[1] == "README.md") { print "README.md quotes no example"; failed = 1 }
    exit failed
  }' "$@" >&2
