#!/bin/sh
# Times one training step of this program and of PyTorch in turn, and prints every figure, the medians and the ratio.
#
#   bench/peer.sh [ROUNDS] [WHAT] [DTYPE]   WHAT: rn50 (default) | r18 | mobilenet_v3_large | efficientnet_b0 |
#                                           regnet_y_400mf | convnext_tiny | swin_t | vit_s_16 | frozen (ResNet-50's forward,
#                                           16 images of 224); DTYPE: f32 (default) | bf16
#                                           needs python3-torch, python3-torchvision
#   PEER=bench/torch_step.py          the script to compare with; THREADS=n, both sides; KEYS='MACHINE.FP32=x3' for sslrun's step
#
# PyTorch runs in both layouts, and the ratio is to the better of the two medians. Its allocator keeps memory (MALLOC_*), and
# its OpenBLAS uses the kernels of the processor (bench/peer_env.sh).
cd "$(dirname "$0")/.." || exit 1
. bench/peer_env.sh
. bench/steps.sh
need_peer torch torchvision
peer_blas
rounds=${1:-5} what=${2:-rn50} dtype=${3:-f32} peer=${PEER:-bench/torch_step.py}
threads=${THREADS:-$(nproc)}
export OMP_NUM_THREADS="$threads" MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184
[ "$dtype" = f32 ] || [ "$dtype" = bf16 ] || { echo "usage: bench/peer.sh [ROUNDS] WHAT [f32|bf16]" >&2; exit 2; }
case $what in
rn50) theirs="--arch resnet50 --crops 2x224,6x96 --batch 8" ;;
r18) theirs="--arch resnet18 --crops 2x32,4x16 --batch 64 --cifar-stem" ;;
swin_t) theirs="--arch swin_t --crops 2x224 --batch 4" ;;
frozen) theirs="--arch resnet50 --forward-only --crops 1x224 --batch 16" ;;
mobilenet_v3_large | efficientnet_b0 | regnet_y_400mf | convnext_tiny | vit_s_16) theirs="--arch $what --crops 2x224 --batch 8" ;;
*) sed -n '4,8p' "$0" >&2; exit 2 ;;
esac
ours=$(step_of "$what")
[ "$dtype" = f32 ] || ours=$(step_of "$what-bf16") theirs="$theirs --dtype bf16"
field() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p"; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
keep() { # NAME: appends ms and MB of the present JSON to the lists of that name
    field median_ms <"$tmp/json" >>"$tmp/$1.ms"
    field max_rss_mb <"$tmp/json" >>"$tmp/$1.mb"
}
i=0
while [ $i -lt "$rounds" ]; do
    i=$((i + 1))
    ./sslrun bench $ours $KEYS --steps 3 --warmup 1 --json >"$tmp/json" 2>/dev/null || exit 1
    keep ours
    for layout in nhwc nchw; do
        /usr/bin/python3 "$peer" $theirs --layout $layout --steps 3 --warmup 1 >"$tmp/json" || exit 1
        keep $layout
    done
    paste "$tmp/ours.ms" "$tmp/ours.mb" "$tmp/nhwc.ms" "$tmp/nhwc.mb" "$tmp/nchw.ms" "$tmp/nchw.mb" | tail -n 1 |
        awk -v i=$i '{printf "round %d: sslrun %.0f ms %d MB, torch nhwc %.0f ms %d MB, nchw %.0f ms %d MB\n", i, $1, $2, $3, $4, $5, $6}'
done
for who in ours nhwc nchw; do echo "$(median <"$tmp/$who.ms") $(median <"$tmp/$who.mb")"; done | tr '\n' ' ' |
    awk -v what="$rounds rounds, $threads threads, $what $dtype${KEYS:+ $KEYS}" '{
        best = $3 < $5 ? $3 : $5; mb = $4 < $6 ? $4 : $6
        printf "medians of %s: sslrun %.0f ms, torch nhwc %.0f, nchw %.0f; torch/sslrun %.3f; memory %d MB, torch %d MB\n",
            what, $1, $3, $5, best / $1, $2, mb}'
