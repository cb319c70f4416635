#!/bin/sh
# Measures an index of 1,000,000 rows of 128 numbers: `make bench-index`.  The last part is a search
# by a fresh process, as people run it: program, model, one picture, all rows.
#
# usage: index.sh BUILD [ROWS]
set -e
build=$1
rows=${2:-1000000}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
file=$place/rows.index
"$build/index-bench" make "$file" "$rows" configs/photos.yaml flatten
"$build/index-bench" query "$file"
"$build/index-bench" exact "$file" 4096
"$build/index-bench" duplicates "$file" 8
printf 'P6 64 64 255 %12288s' '' >"$place/query.ppm"
for more in "" "--probes 8"; do
    for try in 1 2 3 4 5; do
        began=$(date +%s%N)
        # shellcheck disable=SC2086 # two words or none
        "$build/sslrun" -q search "$place/query.ppm" --index "$file" --count 3 $more >"$place/found"
        echo "search $more, a fresh process: $((($(date +%s%N) - began) / 1000)) us"
    done
done
