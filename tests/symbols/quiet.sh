#!/bin/sh
# quiet.sh NM LIBRARY
# Checks that the library never prints, aborts or exits, because it refers to no function that does so.
set -eu
nm=$1 library=$2
case $library in
  *.so*) undefined=$("$nm" -D -C --undefined-only "$library") ;;
  *) undefined=$("$nm" -C --undefined-only "$library") ;;
esac
names=$(echo "$undefined" | sed -n 's/^ *[Uw] //p' | sed 's/@.*//' | sort -u)
[ -n "$names" ] || { echo "$library refers to nothing: not a library"; exit 1; }
stop='_?exit|_Exit|quick_exit|abort|__assert(_perror)?_fail|raise|kill|pthread_kill|longjmp|siglongjmp|_longjmp'
print='(__)?v?f?w?printf(_chk)?|(__)?v?dprintf(_chk)?|f?puts(_unlocked)?|f?putc(_unlocked)?|f?putws|f?putwc|putchar(_unlocked)?|fwrite(_unlocked)?|perror|psignal|(__)?v?syslog(_chk)?|(__)?v?(warn|err|error)x?|stdout|stderr|std::w?(cout|cerr|clog)|std::ios_base::Init::.*|std::v?print.*'
found=$(echo "$names" | grep -Ex "($stop|$print)" || true)
if [ -n "$found" ]; then
  echo "$library refers to what prints, aborts or exits:"
  echo "$found"
  exit 1
fi
echo "$(echo "$names" | wc -l) names, none of which prints, aborts or exits"
