#!/bin/sh
# Fails on a file that compiles a plan of evaluation of its own, and on a header that is implemented in a .c of another stem.
#
# Features come from trainer/features/feature_source.c; it alone compiles plans of evaluation. A plan elsewhere has gradients:
# the file names the losses that its backward passes start from. Private headers (*_internal.h) are shared by several files
# and are not checked. tests/layers.sh runs this script.
cd "${1:-$(dirname "$0")/..}" || exit 1
sources=$(find base formats kernels graph measure trunks heads losses data trainer library folder pages cli -name '*.[ch]' | sort)
{
    grep -l 'sr_plan_compile(' $sources | xargs -r grep -L 'n_losses = ' |
        grep -v '^graph/plan/plan\.[ch]$\|^trainer/features/feature_source\.c$' |
        sed 's/$/: compiles a plan without gradients; take features from trainer\/features\/feature_source.h/'
    awk '
        # Matches a function at the start of a line, which a header declares and a .c file defines.
        /^(static|typedef|#|\/)/ || !/^[A-Za-z].*[ *]sr_+[a-z0-9_]+\(/ { next }
        { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
        FILENAME ~ /\.h$/ { if (FILENAME !~ /_internal\.h$/) header[name] = FILENAME; next }
        !/;$/ { code[name] = FILENAME }
        END {
            for (f in code) if (f in header) {
                h = header[f]; c = code[f]; sub(/\.h$/, "", h); sub(/\.c$/, "", c)
                if (h != c) print code[f] ": implements functions of " header[f]
            }
        }' $sources | sort -u
} | { ! grep .; }
