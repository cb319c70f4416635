#!/bin/sh
# Compares a step of 2 replicas: 2 ranks of 1 thread, 1 rank of 2 threads, and PyTorch's DDP (gloo) on 2 processes, in
# turn. One process of 2 threads and one replica of each program follows, for the ratio without ranks. Prints every
# figure and the medians.
#
#   bench/ddp.sh [ROUNDS] [STEPS]     default 5 rounds of 10 steps, after 2 that do not count; needs mpirun,
#   python3-torch
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-5} steps=${2:-10}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
median() { sort -n | awk '{a[NR]=$1} END {print NR%2 ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }
ours() { # RANKS THREADS REPLICAS: prints the milliseconds of a step of sslrun
    launch=""
    [ "$1" -gt 1 ] && launch="mpirun --oversubscribe --allow-run-as-root --bind-to none -x OMP_NUM_THREADS -np $1"
    rm -rf "$tmp/run"
    OMP_NUM_THREADS=$2 $launch ./sslrun bench/ddp.yaml DISTRIBUTED.REPLICAS="$3" CHECKPOINT.DIR="$tmp/run" \
        DATA.TRAIN.DATA_LIMIT=$(((steps + 2) * 64 * $3)) >"$tmp/out" 2>&1 || { tail -n 3 "$tmp/out" >&2; exit 1; }
    # btime is the mean of all steps so far, so the time of one step is its contribution to their sum.
    sed -n 's/.*"btime(ms)": *\([0-9.]*\).*/\1/p' "$tmp/run/stdout.json" |
        awk '{ if (NR > 2) print $1 * NR - sum; sum = $1 * NR }' | median
}
theirs() { # PROCESSES THREADS: prints the milliseconds of a step of PyTorch
    /usr/bin/python3 bench/ddp.py --processes "$1" --threads "$2" --steps "$steps" | sed -n 's/.*"median_ms": *\([0-9.]*\).*/\1/p'
}
i=0
while [ $i -lt "$rounds" ]; do
    i=$((i + 1))
    ours 2 1 2 >>"$tmp/a" && ours 1 2 2 >>"$tmp/b" && theirs 2 1 >>"$tmp/c" && ours 1 2 1 >>"$tmp/d" && theirs 1 2 >>"$tmp/e" || exit 1
    tail -qn 1 "$tmp/a" "$tmp/b" "$tmp/c" "$tmp/d" "$tmp/e" | tr '\n' ' ' | awk -v i=$i '{
        printf "round %d: 2 ranks %.0f ms, 1 rank %.0f ms, DDP %.0f ms; alone: sslrun %.0f ms, torch %.0f ms\n", i, $1, $2, $3, $4, $5 }'
done
for f in a b c d e; do median <"$tmp/$f"; done | tr '\n' ' ' | awk '{
    printf "medians: throughput of 2 ranks x 1 thread to 1 x 2: %.3f; DDP to 2 ranks %.2f, one process to one process %.2f\n",
        $2 / $1, $3 / $1, $5 / $4 }'
