#!/bin/sh
# One SwAV run with Winograd up to F(4x4), up to F(2x2) and without: do the loss curves lie on each other?
#
#   bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg]     CIFAR_FOLDER holds train/<class>/*
#
# Same seed, same data, same order: all that differs is the rounding of 3x3 convolutions.  F(2x2) is as exact as direct
# products, so how far those two part is the yardstick: training amplifies any rounding, the smallest too.  Prints means of
# ten losses and draws the curves.
cd "$(dirname "$0")/.." || exit 1
data=${1:?usage: bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg]} images=${2:-12800} out=${3:-}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for w in f4 f2 none; do
    ./sslrun configs/pretrain/swav/swav_cifar10.yaml MACHINE.WINOGRAD=$w DATA.TRAIN.DATA_PATHS="[$data/train]" \
        DATA.TRAIN.DATA_LIMIT="$images" DATA.TRAIN.BATCHSIZE_PER_REPLICA=64 TEST_MODEL=False LOG_FREQUENCY=1 \
        OPTIMIZER.num_epochs=1 CHECKPOINT.DIR="$tmp/$w" CHECKPOINT.AUTO_RESUME=False >"$tmp/$w.log" 2>&1 || {
        tail -3 "$tmp/$w.log" >&2
        exit 1
    }
    sed -n 's/.*"loss": *\([0-9.eE+-]*\).*/\1/p' "$tmp/$w/stdout.json" >"$tmp/$w.loss"
done
paste "$tmp/f4.loss" "$tmp/f2.loss" "$tmp/none.loss" >"$tmp/all"
awk 'BEGIN {print "steps     F(4x4)  F(2x2)  direct"}
    {for (i = 1; i <= 3; i++) {sum[i] += $i; d = $i - $3; far[i] += d < 0 ? -d : d}}
    NR % 10 == 0 {printf "%3d-%3d  ", NR - 9, NR; for (i = 1; i <= 3; i++) {printf "  %.4f", sum[i] / 10; sum[i] = 0}; print ""}
    END {printf "mean distance from direct: F(4x4) %.4f, F(2x2) %.4f\n", far[1] / NR, far[2] / NR}' \
    "$tmp/all"
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
