#!/bin/sh
# Draws loss curves of SwAV runs whose convolutions round differently, to show whether they agree.
#
#   bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg] [SEEDS] [WHAT]     CIFAR_FOLDER holds train/<class>/*
#
# WHAT: winograd (default): Winograd up to F(4x4), up to F(2x2) and none.
#       fp32: F(4x4), fused multiply-adds, and floats as three (x3) and six (x6) bfloat16 products on tile registers,
#       emulated if there are none (SR_CPU=amx-emulated); the last three without Winograd.
#
# All runs of one seed see the same images in the same order and differ only in the rounding of convolutions. F(2x2) and
# x6 are as exact as direct products, so the distance of those two is the yardstick: training amplifies even the
# smallest rounding. Losses are means over the seeds 0 to SEEDS - 1. Prints means of ten steps and draws the curves.
cd "$(dirname "$0")/.." || exit 1
data=${1:?usage: bench/winograd_curves.sh CIFAR_FOLDER [IMAGES] [OUT.svg] [SEEDS] [winograd|fp32]} images=${2:-12800} out=${3:-} seeds=${4:-1}
case ${5:-winograd} in
winograd) ways="f4 f2 none" names="F(4x4),F(2x2),direct" ;;
fp32)
    ways="f4 x3 x6 none" names="F(4x4),x3,x6,direct"
    ./sslrun --version | grep -q 'up to amx' || export SR_CPU=amx-emulated
    ;;
*) echo "bench/winograd_curves.sh: WHAT is winograd or fp32, got '$5'" >&2; exit 2 ;;
esac
keys() { # WAY: prints the keys of that way to compute
    case $1 in
    x3 | x6) echo "MACHINE.WINOGRAD=none MACHINE.FP32=$1" ;;
    *) echo "MACHINE.WINOGRAD=$1 MACHINE.FP32=ieee" ;;
    esac
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
seed=0
while [ $seed -lt "$seeds" ]; do
    for w in $ways; do
        run="$tmp/$w.$seed"
        ./sslrun configs/pretrain/swav/swav_cifar10.yaml DATA.STAGES=[] SEED_VALUE=$seed $(keys $w) \
            DATA.TRAIN.DATA_PATHS="[$data/train]" DATA.TRAIN.DATA_LIMIT="$images" DATA.TRAIN.BATCHSIZE_PER_REPLICA=64 \
            TEST_MODEL=False LOG_FREQUENCY=1 OPTIMIZER.num_epochs=1 CHECKPOINT.DIR="$run" \
            CHECKPOINT.AUTO_RESUME=False >"$run.log" 2>&1 || {
            tail -3 "$run.log" >&2
            exit 1
        }
        sed -n 's/.*"loss": *\([0-9.eE+-]*\).*/\1/p' "$run/stdout.json" >"$run.loss"
    done
    (cd "$tmp" && paste $(for w in $ways; do echo "$w.$seed.loss"; done)) >"$tmp/$seed.seed"
    seed=$((seed + 1))
done
awk '{for (i = 1; i <= NF; i++) sum[FNR, i] += $i; n[FNR]++; m = NF; if (FNR > last) last = FNR}
    END {for (r = 1; r <= last; r++) for (i = 1; i <= m; i++) printf "%.9g%s", sum[r, i] / n[r], i < m ? " " : "\n"}' \
    "$tmp"/*.seed >"$tmp/all"
awk -v names="$names" 'BEGIN {m = split(names, name, ","); printf "steps   "
        for (i = 1; i <= m; i++) printf "  %6s", name[i]; print ""}
    {for (i = 1; i <= m; i++) {sum[i] += $i; off[i] += $i - $m}}
    NR % 10 == 0 {printf "%3d-%3d  ", NR - 9, NR; for (i = 1; i <= m; i++) {printf "  %.4f", sum[i] / 10; sum[i] = 0}; print ""}
    END {printf "above direct in the mean:"; for (i = 1; i < m; i++) printf " %s %+.4f", name[i], off[i] / NR; print ""}' "$tmp/all"
for f in "$tmp"/*.seed; do
    awk -v names="$names" -v seed="$(basename "$f" .seed)" '{for (i = 1; i < NF; i++) off[i] += $i - $NF; m = NF}
        END {split(names, name, ","); printf "  seed %s:", seed
             for (i = 1; i < m; i++) printf " %s %+.4f", name[i], off[i] / NR; print ""}' "$f"
done
[ -n "$out" ] || exit 0
# The picture has 600 x 300 pixels, from the least to the largest loss; the direct run is drawn first and widest.
awk -v names="$names" '{m = NF; for (i = 1; i <= m; i++) {y[i, NR] = $i; if (NR == 1 && i == 1) low = high = $i
      if ($i < low) low = $i; if ($i > high) high = $i}}
    function curve(i, width,    n) {
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour[i], width
        for (n = 1; n <= NR; n++) printf "%.1f,%.1f ", 50 + 540 * n / NR, 20 + 250 * (high - y[i, n]) / (high - low)
        printf "\"/><text x=\"480\" y=\"%d\" fill=\"%s\">%s</text>\n", 15 + 17 * i, colour[i], name[i]}
    END {split(names, name, ","); split("#d62728,#1f77b4,#2ca02c", colour, ","); colour[m] = "#bbbbbb"
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"300\" font-family=\"sans-serif\" font-size=\"13\">"
        printf "<text x=\"5\" y=\"24\">%.2f</text><text x=\"5\" y=\"272\">%.2f</text>", high, low
        printf "<text x=\"300\" y=\"292\">step (of %d)</text>\n", NR
        curve(m, 5); for (i = m - 1; i >= 1; i--) curve(i, i == 1 ? 1 : 1.5 + i / 2)
        print "</svg>"}' "$tmp/all" >"$out"
