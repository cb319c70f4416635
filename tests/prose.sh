#!/bin/sh
# Checks how comments and documents are written, as far as a script can; docs/design/prose.md has the rules.
#     tests/prose.sh            the rooms and documents that tests/prose.rooms lists (all of it must pass)
#     tests/prose.sh --count    findings in every room, listed or not
#     tests/prose.sh PATH ...   these files and folders
# It fails on: a reference to a numbered specification; a file name that does not exist in the tree; a comment that opens
# with Of, Its, As, It, The same, What, Whoever or These; a comment beyond column 100; a type alone on its line; an opening
# that is only "see the header"; in documents outside docs/lab: dates, commit hashes and sentences of more than 40 words;
# everywhere: behind, beside, anew, foretell and whoever.
cd "$(dirname "$0")/.." || exit 1
here=$PWD
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
git ls-files >"$list" 2>/dev/null || find . -type f | sed 's,^\./,,' >"$list"
written() { # lists the C files and documents below some paths
    for path; do grep -E "^$path(/|\$)" "$list"; done | grep -E '\.(c|h|md)$' | grep -v '^docs/lab/\|^docs/KEYS\.md$'
}
check() {
    files=$(written "$@")
    test -z "$files" || awk -f "$here/tests/prose.awk" "$list" $files
}
case ${1-} in
--count)
    for room in $(sed 's,/[^/]*$,,' "$list" | sort -u) README.md; do
        files=$(grep -E "^$room(/[^/]*)?\$" "$list" | grep -E '\.(c|h|md)$' | grep -v '^docs/lab/\|^docs/KEYS\.md$')
        test -z "$files" || printf '%5d %s\n' "$(awk -f tests/prose.awk "$list" $files | wc -l)" "$room"
    done
    ;;
'')
    check $(grep -v '^#' tests/prose.rooms) && echo "prose: ok"
    ;;
*) check "$@" && echo "prose: ok" ;;
esac
