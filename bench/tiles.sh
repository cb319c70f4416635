#!/bin/sh
# What tile registers (AMX) are worth: the table of docs/PERFORMANCE.md, on a machine that has them.
#
#   bench/tiles.sh [ROUNDS]     the network's convolutions, one thread, without and with tiles in turn (3 rounds); then
#                               the steps beside PyTorch (bench/peer.sh), where PEER or ../shared/peer has the script
#
# Seconds of processor time, least of the rounds, each layer as often as the network has it.
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-3}
./sslrun --version | tail -n 1
./sslrun --version | grep -q 'up to amx' || { echo "bench/tiles.sh: this processor has no tile registers, or the system refuses them" >&2; exit 1; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
seconds() { # LIST TYPE LEVEL: forward, data, weight gradient, all
    SR_CPU=$3 OMP_NUM_THREADS=1 build/conv-bench "$1" 31 "$2" | sed -n "s/^$1: \([0-9.]*\) + \([0-9.]*\) + \([0-9.]*\) = \([0-9.]*\) s/\1 \2 \3 \4/p"
}
echo "| convolutions, one thread | forward | data | weight gradient | all |"
echo "|---|---|---|---|---|"
for list in r50-224 r50-96 r18-cifar; do
    i=0
    while [ $i -lt "$rounds" ]; do
        i=$((i + 1))
        for way in "bf16 avx512bf16" "bf16 amx" "ieee amx" "x6 amx" "x3 amx"; do
            seconds $list $way >>"$tmp/$list $way"
        done
    done
    for way in "bf16 avx512bf16" "bf16 amx" "ieee amx" "x6 amx" "x3 amx"; do
        sort -n -k 4 "$tmp/$list $way" | head -n 1 | awk -v what="$list, $way" '{printf "| %s | %s | %s | %s | %s s |\n", what, $1, $2, $3, $4}'
    done
done
test -f "${PEER:-../shared/peer/torch_step.py}" || exit 0
for step in "rn50 bf16" "r18 bf16" "rn50 f32"; do bench/peer.sh "$rounds" $step; done
