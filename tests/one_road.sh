#!/bin/sh
# Fails on a file that compiles a plan of evaluation of its own, and on a header that is implemented in a .c of another stem.
#
# Features come from trainer/features/feature_source.c; it alone compiles plans of evaluation. A plan elsewhere has gradients:
# the file names the losses that its backward passes start from. Private headers (*_internal.h) are shared by several files
# and are not checked. tests/one_road.known lists the exceptions that stand:
#     stem HEADER FILE      implements functions of HEADER
# A listed exception that no longer stands is an error too, so the list can only shrink. tests/layers.sh runs this script.
cd "${1:-$(dirname "$0")/..}" || exit 1
known=tests/one_road.known
[ -f $known ] || known=/dev/null
sources=$(find base formats kernels graph measure trunks heads losses data trainer library folder pages cli -name '*.[ch]' | sort)
{
    grep -l 'sr_plan_compile(' $sources | xargs -r grep -L 'n_losses = ' |
        grep -v '^graph/plan/plan\.[ch]$\|^trainer/features/feature_source\.c$' | sed 's/^/plan /'
    awk '
        # Matches a function at the start of a line, which a header declares and a .c file defines.
        /^(static|typedef|#|\/)/ || !/^[A-Za-z].*[ *]sr_+[a-z0-9_]+\(/ { next }
        { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
        FILENAME ~ /\.h$/ { if (FILENAME !~ /_internal\.h$/) header[name] = FILENAME; next }
        !/;$/ { code[name] = FILENAME }
        END {
            for (f in code) if (f in header) {
                h = header[f]; c = code[f]; sub(/\.h$/, "", h); sub(/\.c$/, "", c)
                if (h != c) print "stem " header[f] " " code[f]
            }
        }' $sources | sort -u
} | awk '
    FILENAME != "-" { if ($0 !~ /^#/ && NF) known[$0] = 1; next }
    $0 in known { delete known[$0]; next }
    $1 == "plan" { print $2 ": compiles a plan without gradients; take features from trainer/features/feature_source.h"; bad = 1 }
    $1 == "stem" { print $3 ": implements functions of " $2; bad = 1 }
    END {
        for (k in known) { print "tests/one_road.known: \"" k "\" no longer stands; remove the line"; bad = 1 }
        exit bad
    }' $known - || exit 1
