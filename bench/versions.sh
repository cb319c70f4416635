#!/bin/sh
# Compares a step of this program with that of another version, in turn: prints every figure, the medians and the ratio.
#
#   bench/versions.sh OTHER [ROUNDS] [WHAT ...]   OTHER: a built sslrun; WHAT: rn50 r18 rn50-bf16 r18-bf16 (all four),
#                                              or others of bench/steps.sh, each also with -bf16
#   STEPS=n      timed steps per round (3)        THREADS=n   threads of both (all processors)
#   SR_CPU=avx512   instruction set of both; without it each takes the best that it knows
#
# Each round starts both programs, alternating which one is first, so that other load on the machine affects both alike.
# Ends with 1 if the median of a step is more than 2 % slower than the other's.
cd "$(dirname "$0")/.." || exit 1
. bench/steps.sh
[ -x "$1" ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
other=$1 rounds=${2:-5} steps=${STEPS:-3}
[ $# -gt 2 ] && shift 2 || set -- rn50 r18 rn50-bf16 r18-bf16
export OMP_NUM_THREADS="${THREADS:-$(nproc)}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
measure() { # PROGRAM NAME: appends the median of one round to the list of that name
    "$1" bench $config --steps "$steps" --warmup 1 --json >"$tmp/json" 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
    sed -n 's/.*"median_ms": *\([0-9.]*\).*/\1/p' "$tmp/json" >>"$tmp/$2"
}
median() { sort -n | awk '{a[NR] = $1} END {print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2}'; }
slower=0
for what; do
    config=$(step_of "$what") || exit 2
    : >"$tmp/ours"
    : >"$tmp/theirs"
    i=0
    while [ $i -lt "$rounds" ]; do
        i=$((i + 1))
        if [ $((i % 2)) = 1 ]; then measure ./sslrun ours; measure "$other" theirs; else measure "$other" theirs; measure ./sslrun ours; fi
        paste "$tmp/ours" "$tmp/theirs" | tail -n 1 | awk -v i=$i -v w="$what" '{printf "%s, round %d: %.1f ms, the other %.1f\n", w, i, $1, $2}'
    done
    echo "$(median <"$tmp/ours") $(median <"$tmp/theirs")" |
        awk -v w="$what, $rounds rounds, $OMP_NUM_THREADS threads" '{printf "%s: median %.1f ms, the other %.1f, ratio %.3f\n", w, $1, $2, $1 / $2; exit $1 / $2 > 1.02}' || slower=1
done
exit $slower
