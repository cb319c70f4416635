#!/bin/sh
# Prints the names of the suites of tests in rooms of tests/ on one line, as ONLY of `make` takes them.
# usage: suites.sh ROOM...
cd "$(dirname "$0")" || exit
suites=
for room in "$@"; do
    found=$(sed -n 's/^SR_TESTS(\([a-z0-9_]*\),.*/\1/p' "$room"/test_*.c) || exit
    suites="$suites $found"
done
# shellcheck disable=SC2086 # without quotes, line ends become spaces
echo $suites
