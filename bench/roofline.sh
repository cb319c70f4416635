#!/bin/sh
# Prints a Markdown table of the operations of steps: their time in this program and in another version, and their share of the
# roofline, which is the larger of the times that arithmetic and memory need at the peaks found in the same run.
#
#   bench/roofline.sh OTHER [ROUNDS] [WHAT ...]   OTHER: a built sslrun; ROUNDS (3) in turn; WHAT: steps of bench/steps.sh (all)
#   THREADS=n   threads of both (all processors)
#
# Operations below 1 % of a step in both are left out. Figures are medians of the rounds.
cd "$(dirname "$0")/.." || exit 1
. bench/steps.sh
[ -x "$1" ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
other=$1 rounds=${2:-3}
[ $# -gt 2 ] && shift 2 || set -- $steps
export OMP_NUM_THREADS="${THREADS:-$(nproc)}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
measure() { # PROGRAM NAME: appends lines "NAME op pass ms share-of-step share-of-limit" of the present step
    "$1" bench $config --steps 2 --warmup 1 --ops >"$tmp/text" 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
    awk -v who="$2" '/^by op/ { on = 1; next } /^(slowest|all) calls/ { exit }
        on && $4 == "ms" { for (i = 5; i < NF; i++) if ($i == "%" && $(i + 1) == "of") limit = $(i - 1); print who, $1, $2, $3, $5, limit }' \
        "$tmp/text" >>"$tmp/ops"
}
echo "| step | operation, pass | ms before | now | share of the step | of the roofline before | now |"
echo "|---|---|---|---|---|---|---|"
for what; do
    config=$(step_of "$what") || exit 2
    : >"$tmp/ops"
    i=0
    while [ $i -lt "$rounds" ]; do
        i=$((i + 1))
        measure "$other" before
        measure ./sslrun now
    done
    sort -k1,3 -k4,4n "$tmp/ops" | awk -v what="$what" '
        function end() {
            if (n) { m = int((n + 1) / 2); ms[key] = time[m]; part[key] = share[m]; roof[key] = limit[m]; n = 0 }
        }
        { k = $1 SUBSEP $2 ", " $3; if (k != key) end(); key = k; name[$2 ", " $3] = 1; n++; time[n] = $4; share[n] = $5; limit[n] = $6 }
        END {
            end()
            for (o in name) {
                b = "before" SUBSEP o; a = "now" SUBSEP o
                if (part[a] >= 1 || part[b] >= 1)
                    printf "| %s | %s | %s | %s | %.0f %% | %s | %s |\n", what, o, b in ms ? ms[b] : "", a in ms ? ms[a] : "",
                        part[a], b in roof ? roof[b] " %" : "", a in roof ? roof[a] " %" : ""
            }
        }' | sort -t '|' -k5,5nr
done
