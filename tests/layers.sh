#!/bin/sh
# Fails on an include that points to a room further right in
#     base formats kernels graph measure {trunks heads losses} trainer folder pages cli    (data depends on base only)
# or from another room to library/, which implements sslrun.h over trainer
# or, inside trainer, in
#     schedules optim config data model features run eval bench
# The training loop in trainer's own files may use all of its rooms. A folder inside a room is a shelf: it has the rights of
# its room.
# The script also fails on files that include each other in a circle and on types that are defined twice (layers.awk), on
# plugins that are known by name outside their room (plugin_names.awk), on files, rooms and shelves that are too large, and
# on a second road to features or a header of another stem (one_road.sh).
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}" || exit 1
bad=0
allow() { # folder, then the folders it may include
    here=$1; shift
    grep -rHE '^ *# *include *"' --include='*.[ch]' "$here" | sed 's/: *# *include *"/ /; s/".*//' |
        awk -v here="$here" -v more="gen sslrun.h $*" '
            BEGIN { n = split(more, m, " "); for (i = 1; i <= n; i++) ok[m[i]]; ok[here] }
            { good = $2 in ok
              for (room = $2; !good && sub(/\/[^\/]*$/, "", room);) good = room in ok
              if (!good) { print $1 " includes " $2; bad = 1 } }
            END { exit bad }' || bad=1
}
allow base
allow formats base
allow kernels base formats
allow measure base kernels
allow graph base kernels
allow trunks base kernels graph
allow heads base kernels graph
allow losses base kernels graph measure
allow data base
allow trainer base kernels graph measure trunks heads losses data formats
allow library base kernels graph measure trunks heads losses data formats trainer
allow folder base kernels graph measure trunks heads losses data formats trainer
allow pages base kernels graph measure trunks heads losses data formats trainer folder
allow cli base kernels graph measure trunks heads losses data formats trainer folder pages
below=
for room in schedules optim config data model features run eval bench; do
    allow trainer/$room base kernels graph measure trunks heads losses data formats $below
    below="$below trainer/$room"
done
sources=$(find base formats kernels graph measure trunks heads losses data trainer library folder pages cli -name '*.[ch]')
awk -f tests/layers.awk $sources || bad=1
awk -f tests/plugin_names.awk $sources pass=2 $sources || bad=1
# A locale's decimal comma must not reach a file or a message: only base/text/number.c may call functions that depend on it.
if grep -nE '\<(strto[df]|strtold|atof|vsn?printf)\(' $sources | grep -v '^base/text/number\.c:'; then
    echo "numbers are parsed and printed by base/text/number.h"; bad=1
fi
# No file has more than 600 lines, no folder more than 40 files at one level or a fifth of all lines, and trainer/ has at
# most 12 files of its own. The lines of a small tree are not measured.
wc -l $sources | awk '
    $2 == "total" { all += $1; next }
    $1 > 600 { print $2 " has " $1 " lines, 600 are the most"; bad = 1 }
    { room = $2; sub(/\/[^\/]*$/, "", room); lines[room] += $1; files[room]++ }
    END { for (r in lines) if (all > 10000 && lines[r] > all / 5) { print r " holds " lines[r] " of " all " lines"; bad = 1 }
          for (r in files) if (files[r] > 40) { print r " has " files[r] " files at one level, 40 are the most"; bad = 1 }
          if (files["trainer"] > 12) { print "trainer/ has " files["trainer"] " files at its top, 12 are the most"; bad = 1 }
          exit bad }' || bad=1
"$tools/one_road.sh" "$PWD" || bad=1
[ $bad = 0 ] && echo "layers: ok"
exit $bad
