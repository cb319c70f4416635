#!/bin/bash
# Draws comments at random, to be read alone: prints N (40) blocks of comments of the tree, with file and line.
# A call with the same seed on the same tree draws the same places.  usage: tests/prose_places.sh [SEED] [N] [PATH ...]
cd "$(dirname "$0")/.." || exit 1
seed=${1:-$RANDOM}
n=${2:-40}
shift $(($# < 2 ? $# : 2))
echo "seed $seed"
git ls-files -z -- "${@:-.}" | grep -zE '\.(c|h|sh|mk|py|awk)$|(^|/)Makefile$' | xargs -0 awk '
    function ends() { if (block != "") print place "\t" block; block = "" }
    FNR == 1 { ends() }
    FILENAME ~ /\.[ch]$/ ? /^ *(\/\/|\/\*)/ : /^ *# / {
        if (block == "") place = FILENAME ":" FNR
        line = $0; sub(/^ *(\/\/+|\/\*+|#) ?/, "", line); sub(/ *\*\/ *$/, "", line)
        if (line ~ /^----/) next # a heading of a part of the file
        block = block " " line; next }
    { ends() }
    END { ends() }' | awk -F'\t' 'length($2) > 50' |
    shuf -n "$n" --random-source=<(awk -v s="$seed" 'BEGIN { srand(s); for (i = 0; i < 65536; i++) print rand() }') |
    awk -F'\t' '{ print $1 ":" $2 "\n" }' | fold -s -w 150
