#!/bin/sh
# Adds inputs to the archive of a fuzz target, named by a hash of their content, unless it holds them. The same inputs
# give the same archive.
#
#   tests/fuzz/keep.sh TARGET FILE...      TARGET: config features graph image npy npz pth safetensors
set -e
target=$1
corpus=$(cd "$(dirname "$0")/corpus" && pwd)
archive="$corpus/$target.tar.gz"
[ $# -ge 2 ] && [ -f "$archive" ] || { echo "usage: tests/fuzz/keep.sh TARGET FILE...  (no $archive, or no file)" >&2; exit 2; }
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/inputs"
tar -xzf "$archive" -C "$folder/inputs"
for file; do
    sum=$(sha1sum <"$file" | cut -c1-40)
    sha1sum "$folder"/inputs/* | grep -q "^$sum" || cp "$file" "$folder/inputs/found_$(echo "$sum" | cut -c1-10)"
done
(cd "$folder/inputs" && LC_ALL=C ls | tar -c --format=ustar --sort=name --mtime=@0 --mode=644 --owner=0 --group=0 \
    --numeric-owner -T -) | gzip -9n >"$folder/new"
mv "$folder/new" "$archive"
echo "$archive: $(ls "$folder/inputs" | wc -l) inputs"
