#!/bin/sh
# One training step beside PyTorch's, in turn in one run; prints every figure, the medians and the ratio.
#
#   bench/peer.sh [ROUNDS] [WHAT] [DTYPE]   WHAT: rn50 (default) | r18; DTYPE: f32 (default) | bf16
#                                           needs python3-torch, python3-torchvision
#   PEER=path/to/torch_step.py        the script to compare with; THREADS=n, both sides
#
# PyTorch is granted its fastest layout (nhwc) and an allocator that does not return memory (MALLOC_*).
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-5} what=${2:-rn50} dtype=${3:-f32} peer=${PEER:-../shared/peer/torch_step.py}
threads=${THREADS:-$(nproc)}
export OMP_NUM_THREADS="$threads" MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184
case $what in
rn50) ours="configs/pretrain/swav/swav_resnet50.yaml DATA.TRAIN.BATCHSIZE_PER_REPLICA=8"
      theirs="--arch resnet50 --crops 2x224,6x96 --batch 8" ;;
r18)  ours="bench/swav_r18.yaml"
      theirs="--arch resnet18 --crops 2x32,4x16 --batch 64 --cifar-stem" ;;
*) echo "usage: bench/peer.sh [ROUNDS] rn50|r18 [f32|bf16]" >&2; exit 2 ;;
esac
case $dtype in
f32) ;;
bf16) ours="$ours MODEL.AMP_PARAMS.USE_AMP=true" theirs="$theirs --dtype bf16" ;;
*) echo "usage: bench/peer.sh [ROUNDS] rn50|r18 [f32|bf16]" >&2; exit 2 ;;
esac
field() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p"; }
median() { sort -n | awk '{a[NR]=$1} END {print NR%2 ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
i=0
while [ $i -lt "$rounds" ]; do
    i=$((i + 1))
    ./sslrun bench $ours --steps 3 --warmup 1 --json >"$tmp/a" || exit 1
    /usr/bin/python3 "$peer" $theirs --layout nhwc --steps 3 --warmup 1 >"$tmp/b" || exit 1
    a=$(field median_ms <"$tmp/a") b=$(field median_ms <"$tmp/b")
    am=$(field max_rss_mb <"$tmp/a") bm=$(field max_rss_mb <"$tmp/b")
    echo "$a" >>"$tmp/as"; echo "$b" >>"$tmp/bs"; echo "$am" >>"$tmp/ams"; echo "$bm" >>"$tmp/bms"
    echo "$a $b" | awk '{print $2/$1}' >>"$tmp/rs"
    echo "round $i: sslrun $a ms $am MB, torch $b ms $bm MB"
done
echo "median of $rounds, $threads threads, $what $dtype: sslrun $(median <"$tmp/as") ms, torch $(median <"$tmp/bs") ms," \
    "torch/sslrun $(median <"$tmp/rs"); memory $(median <"$tmp/ams") MB and $(median <"$tmp/bms") MB"
