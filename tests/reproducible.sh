#!/bin/sh
# Builds the files under version control twice, in folders whose names differ in length and at different times, and
# fails unless program and libraries are equal byte by byte.
# usage: reproducible.sh MAKE
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in here in/another/folder; do
    mkdir -p "$dir/$name"
    git ls-files -z | tar -c --null -T - | tar -x -C "$dir/$name"
    (cd "$dir/$name" && "$1" CCACHE_DISABLE=1 sslrun libsslrun.a libsslrun.so >"$dir/log" 2>&1) || { tail -30 "$dir/log"; exit 1; }
done
for file in sslrun libsslrun.a libsslrun.so.0; do
    cmp "$dir/here/$file" "$dir/in/another/folder/$file"
    (cd "$dir/here" && sha256sum "$file")
done
echo "reproducible: ok"
