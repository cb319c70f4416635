#!/bin/sh
# SwAV runs with Winograd up to F(4x4), up to F(2x2) and without: do the loss curves lie on each other?
#
#   bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg] [SEEDS]     CIFAR_FOLDER holds train/<class>/*
#
# Of a seed the three runs see the same images in the same order: all that differs is the rounding of 3x3 convolutions.
# F(2x2) is as exact as direct products, so how far those two part is the yardstick: training amplifies any rounding, the
# smallest too.  Losses are means over the seeds 0 .. SEEDS - 1.  Prints means of ten steps and draws the curves.
cd "$(dirname "$0")/.." || exit 1
data=${1:?usage: bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg] [SEEDS]} images=${2:-12800} out=${3:-} seeds=${4:-1}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
seed=0
while [ $seed -lt "$seeds" ]; do
    for w in f4 f2 none; do
        run="$tmp/$w.$seed"
        ./sslrun configs/pretrain/swav/swav_cifar10.yaml SEED_VALUE=$seed MACHINE.WINOGRAD=$w \
            DATA.TRAIN.DATA_PATHS="[$data/train]" DATA.TRAIN.DATA_LIMIT="$images" DATA.TRAIN.BATCHSIZE_PER_REPLICA=64 \
            TEST_MODEL=False LOG_FREQUENCY=1 OPTIMIZER.num_epochs=1 CHECKPOINT.DIR="$run" \
            CHECKPOINT.AUTO_RESUME=False >"$run.log" 2>&1 || {
            tail -3 "$run.log" >&2
            exit 1
        }
        sed -n 's/.*"loss": *\([0-9.eE+-]*\).*/\1/p' "$run/stdout.json" >"$run.loss"
    done
    paste "$tmp/f4.$seed.loss" "$tmp/f2.$seed.loss" "$tmp/none.$seed.loss" >"$tmp/$seed.seed"
    seed=$((seed + 1))
done
awk '{for (i = 1; i <= 3; i++) sum[FNR, i] += $i; n[FNR]++; if (FNR > last) last = FNR}
    END {for (r = 1; r <= last; r++) print sum[r, 1] / n[r], sum[r, 2] / n[r], sum[r, 3] / n[r]}' "$tmp"/*.seed >"$tmp/all"
awk 'BEGIN {print "steps     F(4x4)  F(2x2)  direct"}
    {for (i = 1; i <= 3; i++) {sum[i] += $i; off[i] += $i - $3}}
    NR % 10 == 0 {printf "%3d-%3d  ", NR - 9, NR; for (i = 1; i <= 3; i++) {printf "  %.4f", sum[i] / 10; sum[i] = 0}; print ""}
    END {printf "above direct in the mean: F(4x4) %+.4f, F(2x2) %+.4f\n", off[1] / NR, off[2] / NR}' "$tmp/all"
awk '{for (i = 1; i <= 2; i++) {off[FILENAME, i] += $i - $3}; n[FILENAME]++}
    END {for (f in n) {g = f; sub(/.*\//, "", g); sub(/\.seed/, "", g)
         printf "  seed %s: F(4x4) %+.4f, F(2x2) %+.4f\n", g, off[f, 1] / n[f], off[f, 2] / n[f]}}' "$tmp"/*.seed | sort
[ -n "$out" ] || exit 0
# 600 x 300, losses from the least to the largest; the direct run is drawn first and widest.
awk '{for (i = 1; i <= 3; i++) {y[i, NR] = $i; if (NR == 1 && i == 1) low = high = $i; if ($i < low) low = $i
      if ($i > high) high = $i}}
    function curve(i, name, colour, width,    n) {
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour, width
        for (n = 1; n <= NR; n++) printf "%.1f,%.1f ", 50 + 540 * n / NR, 20 + 250 * (high - y[i, n]) / (high - low)
        printf "\"/><text x=\"480\" y=\"%d\" fill=\"%s\">%s</text>\n", 15 + 17 * i, colour, name}
    END {print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"300\" font-family=\"sans-serif\" font-size=\"13\">"
        printf "<text x=\"5\" y=\"24\">%.2f</text><text x=\"5\" y=\"272\">%.2f</text>", high, low
        printf "<text x=\"300\" y=\"292\">step (of %d)</text>\n", NR
        curve(3, "direct", "#bbbbbb", 5); curve(2, "F(2x2)", "#1f77b4", 2.5); curve(1, "F(4x4)", "#d62728", 1)
        print "</svg>"}' "$tmp/all" >"$out"
