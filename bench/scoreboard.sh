#!/bin/sh
# Measures the README's benchmark table on this machine and prints it as Markdown: `make scoreboard`.
#
#   bench/scoreboard.sh [ROUNDS] [ROW ...]     rounds per row (3); rows: rn50 r18 vit_s_16 frozen onnx transforms (all of
#                                              these), efficientnet_b0
#   THREADS=n                                  threads of both programs (all processors)
#
# Both programs run in turn, and each figure is the median over the rounds (bench/peer.sh, bench/frozen_runtimes.py,
# bench/transforms.py). The ratio is the peer's time divided by sslrun's: a number above 1 means that sslrun is faster.
# PyTorch has the faster of its two layouts. Without ONNX Runtime the table lacks the row onnx, and the last line says
# how to install it; a row that the caller names fails instead.
cd "$(dirname "$0")/.." || exit 1
. bench/peer_env.sh
case ${1-} in
'' | *[!0-9]*) rounds=3 ;;
*) rounds=$1 && shift ;;
esac
need_peer torch torchvision
peer_blas
without_onnx=
if [ $# -eq 0 ]; then
    need_peer sklearn PIL
    set -- rn50 r18 vit_s_16 frozen onnx transforms
    if ! node -e 'require("onnxruntime-node")' 2>/dev/null; then
        without_onnx=yes
        set -- rn50 r18 vit_s_16 frozen transforms
    fi
fi
threads=${THREADS:-$(nproc)}
torch=$(/usr/bin/python3 -c 'import torch; print(torch.__version__)' 2>/dev/null)
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp"' EXIT
say() {
    case $1 in
    rn50) echo "training step, SwAV ResNet-50, 2x224 + 6x96, batch 8" ;;
    r18) echo "training step, SwAV ResNet-18 for small images, 2x32 + 4x16, batch 64" ;;
    vit_s_16) echo "training step, ViT-S/16, 2x224, batch 8" ;;
    efficientnet_b0) echo "training step, EfficientNet-B0, 2x224, batch 8" ;;
    frozen) echo "frozen features, ResNet-50, 224, batch 16" ;;
    *) echo "$0: no row '$1'; the rows are rn50 r18 vit_s_16 efficientnet_b0 frozen onnx transforms" >&2 && exit 2 ;;
    esac
}
peer_row() { # ROW: one line of the table from the medians of bench/peer.sh
    what=$(say "$1") || exit 2
    bench/peer.sh "$rounds" "$1" >"$tmp" || exit 1
    sed -n 's/^medians.*: sslrun \([0-9]*\) ms, torch nhwc \([0-9]*\), nchw \([0-9]*\); torch.sslrun \([0-9.]*\); memory \([0-9]*\) MB, torch \([0-9]*\) MB/\1 \2 \3 \4 \5 \6/p' "$tmp" |
        awk -v what="$what" '{ best = $2 < $3 ? $2 : $3
            printf "| %s | %d ms | PyTorch, %d ms | %.2f | %d / %d MB |\n", what, $1, best, $4, $5, $6 }'
}
onnx_row() { # from the rounds of bench/frozen_runtimes.py: "resnet50 round 0: sslrun A s, PyTorch B s, ONNX Runtime C s, ..."
    OMP_NUM_THREADS="$threads" /usr/bin/python3 bench/frozen_runtimes.py ./sslrun "$rounds" resnet50 >"$tmp" || exit 1
    for column in 5 12; do awk -v c=$column '$2 == "round" { print $c * 1000 }' "$tmp" | median; done | tr '\n' ' ' | awk '{
        printf "| frozen features, ResNet-50, 224, batch 16 | %d ms | ONNX Runtime, %d ms | %.2f | |\n", $1, $2, $2 / $1 }'
}
transforms_row() {
    bench/transforms.py "$rounds" >"$tmp" || exit $?
    awk '$1 == "PIL/torchvision" { peer = $2 } $1 == "exact" { ours = $2 }
        END { printf "| augmentation with decoding, 2x224 + 6x96, per core | %.0f images/s | torchvision, %.0f images/s | %.1f | |\n", ours, peer, ours / peer }' "$tmp"
}
echo "$(processor), $threads threads, PyTorch ${torch%%[+a]*}, float32, medians of $rounds rounds, $(date +%F): \`make scoreboard\`"
echo
echo "| | sslrun | peer | ratio | peak memory, sslrun / peer |"
echo "|---|---|---|---|---|"
for row; do
    case $row in
    transforms) need_peer sklearn PIL && transforms_row ;;
    onnx) onnx_row ;;
    *) peer_row "$row" ;;
    esac
done
test -z "$without_onnx" || echo "
ONNX Runtime was not measured; install it with: npm install --prefix /tmp/peers --ignore-scripts onnxruntime-node && export NODE_PATH=/tmp/peers/node_modules"
