# Reads `#include` lines and type definitions of the product's files; tests/layers.sh calls it with their names.
# A unit is a .c and a .h of one stem with its <stem>_internal.h.  A folder behind one header is a unit too: conv.h,
# config.h; and so are files that only cut one module in two.
BEGIN {
    module["graph/init"] = "graph/params"
    module["graph/rewrite"] = "graph/blocks"
    module["trainer/data/class_match"] = "trainer/data/data_split"
}
function unit(file) {
    sub(/(_internal)?\.[ch]$/, "", file)
    if (file ~ /^kernels\/conv\//) return "kernels/conv"
    if (file ~ /^trainer\/config\//) return "trainer/config"
    return file in module ? module[file] : file
}
FNR == 1 { here = unit(FILENAME) }
/^ *# *include *"/ {
    split($0, q, "\""); there = unit(q[2])
    if (there != here) edge[here, there] = FILENAME " includes " q[2]
    next
}
# "} SrName;" closes a struct, union or enum; the same name in two files is two types.
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
# An include is part of a circle if its target leads back.
END {
    for (e in edge) { split(e, n, SUBSEP); after[n[1]] = after[n[1]] " " n[2] }
    for (e in edge) {
        split(e, n, SUBSEP); split("", seen)
        if (reaches(n[2], n[1])) { print "circle: " edge[e]; bad = 1 }
    }
    exit bad
}
