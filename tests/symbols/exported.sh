#!/bin/sh
# exported.sh NM LIBRARY INCLUDE_FOLDER...
# Checks that the shared library exports only weft's public names: names in public headers, classes that are defined
# there, and the C names in weft/weft_c.h. They must include Error's typeinfo, so that programs can catch an Error that
# the library throws.
set -eu
nm=$1 library=$2
shift 2
exported=$("$nm" -D -C --defined-only "$library" | cut -d ' ' -f 3- | sort -u)
[ -n "$exported" ] || { echo "$library exports nothing"; exit 1; }

headers=$(find "$@" -name '*.h' -exec cat {} + | sed 's|//.*||')
words=$(mktemp)
scopes=$(mktemp)
trap 'rm -f "$words" "$scopes"' EXIT
echo "$headers" | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u >"$words"
# "class X final : public Y {" but not "class X;"
echo "$headers" | grep -E '\b(class|struct|namespace)\b[^;]*\{' |
  grep -oE '\b(class|struct|namespace) [A-Za-z_0-9:]+' | sed 's/.* //; s/::/\n/g' | sort -u >"$scopes"

foreign=$(echo "$exported" | awk -v words="$words" -v scopes="$scopes" '
  BEGIN {
    while ((getline line < words) > 0) word[line]
    while ((getline line < scopes) > 0) scope[line]
  }
  {
    name = $0
    is_class = sub(/^(typeinfo|typeinfo name|vtable|VTT) for /, "", name)
    sub(/^(guard variable for|(non-)?virtual thunk to) /, "", name)
    sub(/ const$/, "", name)
    gsub(/\[abi:[a-z0-9]*\]/, "", name)
    sub(/operator.*/, "operator", name)
    while (gsub(/<[^<>]*>/, "", name)) {}
    sub(/[(].*/, "", name)
    sub(/^.* /, "", name)
    public = sub(/^weft::/, "", name)
    if (name ~ /^detail::/ && name !~ /^detail::(run_op|compute|record)$/) public = 0  # apply_op calls these
    parts = split(name, part, "::")
    for (i = 1; i < parts + is_class; ++i) if (!(part[i] in scope)) public = 0
    last = part[parts]
    sub(/^~/, "", last)
    if (!(last in word) && last != "operator") public = 0
    if ($0 ~ /^weft_[a-z_]+$/ && $0 in word) public = 1  # C
    if (!public) print
  }')
if [ -n "$foreign" ]; then
  echo "$library exports what is not public:"
  echo "$foreign"
  exit 1
fi
echo "$exported" | grep -qx "typeinfo for weft::Error" || { echo "weft::Error's typeinfo isn't exported"; exit 1; }
echo "$(echo "$exported" | wc -l) names, all public"
