# Reads the `#include` lines and type definitions of the product's files and reports circles and types defined twice.
# tests/layers.sh calls it with their names.
# A unit consists of a .c, a .h and a <stem>_internal.h with one stem.
function unit(file) {
    sub(/(_internal)?\.[ch]$/, "", file)
    return file
}
FNR == 1 { here = unit(FILENAME) }
/^ *# *include *"/ {
    split($0, q, "\""); there = unit(q[2])
    if (there != here) edge[here, there] = FILENAME " includes " q[2]
    next
}
# The line "} SrName;" closes a struct, union or enum. One name in two files means two types.
/^} Sr[A-Za-z0-9]*;/ {
    name = $2; sub(/;.*/, "", name)
    if (name in home && home[name] != FILENAME) { print "type " name ": " home[name] ", " FILENAME; bad = 1 }
    home[name] = FILENAME
}
function reaches(from, to,    i, n, next_of) {
    if (from == to) return 1
    if (seen[from]++) return 0
    n = split(after[from], next_of, " ")
    for (i = 1; i <= n; i++) if (reaches(next_of[i], to)) return 1
    return 0
}
# An include belongs to a circle if its target includes the unit again.
END {
    for (e in edge) { split(e, n, SUBSEP); after[n[1]] = after[n[1]] " " n[2] }
    for (e in edge) {
        split(e, n, SUBSEP); split("", seen)
        if (reaches(n[2], n[1])) { print "circle: " edge[e]; bad = 1 }
    }
    exit bad
}
