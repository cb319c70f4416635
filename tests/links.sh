#!/bin/sh
# Checks that every relative link and picture in the documents (README.md, docs/ and in rooms) leads to a file in the tree.
cd "$(dirname "$0")/.." || exit 1
bad=0
for doc in *.md docs/*.md docs/*/*.md kernels/conv/*.md tests/golden/cases/*.md; do
    test -f "$doc" || continue
    for link in $({ grep -o ']([^)]*)' "$doc" | sed 's/^](//; s/)$//'; grep -oE ' src(set)?="[^"]*"' "$doc" | cut -d'"' -f2; } |
        sed 's/#.*//; s/ .*//'); do
        case $link in
        http*|'') continue ;;
        esac
        test -e "$(dirname "$doc")/$link" || { echo "$doc: no $link"; bad=1; }
    done
done
[ $bad = 0 ] && echo "links: ok"
exit $bad
