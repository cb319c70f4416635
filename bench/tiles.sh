#!/bin/sh
# Measures the effect of tile registers (AMX): the table of docs/lab/performance.md, on a machine that has them.
#
#   bench/tiles.sh [ROUNDS]     convolutions of the network and attention, one thread, without and with tiles in turn (3
#                               rounds); then steps and a frozen forward compared with PyTorch, with both memory peaks
#                               (bench/peer.sh, its five rounds)
#
# For convolutions the figures are seconds of processor time, the least of the rounds, each layer as often as the
# network has it.
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-3}
./sslrun --version | grep instructions
./sslrun --version | grep -q 'up to amx' || { echo "bench/tiles.sh: this processor has no tile registers (AMX), or the system refuses them: nothing to measure" >&2; exit 1; }
make build/conv-bench build/op-bench >/dev/null || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
seconds() { # LIST TYPE LEVEL: prints seconds of forward, data gradient, weight gradient, and all
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
# Winograd takes as many tiles at a time as for a second-level cache of 1 MB, and as for this processor's cache (SR_L2).
i=0
while [ $i -lt "$rounds" ]; do
    i=$((i + 1))
    for cache in 1048576 0; do
        printf 'blocks for a second-level cache of %s bytes (0: its own):' "$cache"
        SR_L2=$cache SR_CPU=avx512 OMP_NUM_THREADS=1 build/conv-bench r50-224 15 | sed -n 's/^ *Winograd, maps >= 8 */ /p'
    done
done
for level in avx512bf16 amx; do
    for shape in 16,197,1152 16,197,2304; do
        printf '%s: ' "$level"
        SR_CPU=$level OMP_NUM_THREADS=1 build/op-bench attention "{num_heads: $((${shape##*,} / 192))}" "$shape" bf16
    done
done
for step in "rn50 bf16" "r18 bf16" "rn50 f32" "vit_s_16 bf16" "vit_s_16 f32" "frozen bf16" "frozen f32"; do
    bench/peer.sh 5 $step
done
KEYS="MACHINE.FP32=x3" bench/peer.sh 5 rn50 f32
KEYS="MACHINE.FP32=ieee" bench/peer.sh 5 rn50 f32
