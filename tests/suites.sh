#!/bin/sh
# Prints the names of the suites of tests in rooms of tests/, one per line.
# usage: suites.sh ROOM...
cd "$(dirname "$0")" || exit
for room in "$@"; do
    sed -n 's/^SR_TESTS(\([a-z0-9_]*\),.*/\1/p' "$room"/test_*.c || exit
done
