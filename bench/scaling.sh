#!/bin/sh
# Measures the cost of a step by batch, crops, image size and threads, on random images. Prints one CSV line per
# measurement.
#
#   bench/scaling.sh [CONFIG] [STEPS]     default configs/pretrain/swav/swav_resnet18.yaml, 3 steps
#
# One setting varies at a time around batch 16, 2 crops of 96 and 4 of 48, on all cores.
cd "$(dirname "$0")/.." || exit 1
config=${1:-configs/pretrain/swav/swav_resnet18.yaml} steps=${2:-3}
field() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p"; }
# Measures WHAT BATCH LARGE SMALL SIZE THREADS: LARGE crops of SIZE, SMALL crops of half that size.
measure() {
    line=$(OMP_NUM_THREADS=$6 ./sslrun bench "$config" DATA.TRAIN.BATCHSIZE_PER_REPLICA="$2" \
        DATA.TRAIN.TRANSFORMS.0.total_num_crops=$(($3 + $4)) DATA.TRAIN.TRANSFORMS.0.num_crops="[$3,$4]" \
        DATA.TRAIN.TRANSFORMS.0.size_crops="[$5,$(($5 / 2))]" LOSS.swav_loss.num_crops=$(($3 + $4)) \
        LOSS.swav_loss.queue.start_iter=100000 --steps "$steps" --json 2>/dev/null) || exit 1
    ms=$(echo "$line" | field median_ms)
    echo "$1,$2,$3,$4,$5,$6,$ms,$(echo "$ms $2" | awk '{printf "%.2f", $1 / $2}'),$(echo "$line" | field gflops),$(
        echo "$line" | field max_rss_mb),$(echo "$line" | field start_s)"
}
cores=$(nproc)
echo "varies,batch,large,small,size,threads,median_ms,ms_per_image,gflops,max_rss_mb,start_s"
for b in 4 8 16 32; do measure batch $b 2 4 96 "$cores"; done
for c in 1 2 4 6; do measure crops 16 2 $c 96 "$cores"; done
for s in 64 96 128 160; do measure size 16 2 4 $s "$cores"; done
t=1
while [ $t -le "$cores" ]; do
    measure threads 16 2 4 96 $t
    t=$((t * 2))
done
