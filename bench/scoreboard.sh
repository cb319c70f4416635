#!/bin/sh
# Measures the README's benchmark table on this machine and prints it as Markdown: `make scoreboard`.
#
#   bench/scoreboard.sh [ROUNDS] [ROW ...]     rounds per row (3); rows: rn50 r18 vit_s_16 efficientnet_b0 frozen transforms (all)
#   THREADS=n                                  threads of both programs (all processors)
#
# Both programs run in turn, and each figure is the median over the rounds (bench/peer.sh, bench/transforms.py). The
# ratio is the peer's time divided by sslrun's: a number above 1 means that sslrun is faster. PyTorch has the faster of
# its two layouts.
cd "$(dirname "$0")/.." || exit 1
. bench/peer_env.sh
need_peer torch torchvision
peer_blas
rounds=${1:-3}
[ $# -gt 1 ] && shift || set -- "$rounds" rn50 r18 vit_s_16 efficientnet_b0 frozen transforms
[ "$1" = "$rounds" ] && shift
threads=${THREADS:-$(nproc)}
torch=$(/usr/bin/python3 -c 'import torch; print(torch.__version__)' 2>/dev/null)
say() {
    case $1 in
    rn50) echo "training step, SwAV ResNet-50, 2x224 + 6x96, batch 8" ;;
    r18) echo "training step, SwAV ResNet-18 for small images, 2x32 + 4x16, batch 64" ;;
    vit_s_16) echo "training step, ViT-S/16, 2x224, batch 8" ;;
    efficientnet_b0) echo "training step, EfficientNet-B0, 2x224, batch 8" ;;
    frozen) echo "frozen features, ResNet-50, 224, batch 16" ;;
    esac
}
echo "$(processor), $threads threads, PyTorch ${torch%%+*}, medians of $rounds rounds, $(date +%F): \`make scoreboard\`"
echo
echo "| | sslrun | PyTorch | ratio | memory | PyTorch |"
echo "|---|---|---|---|---|---|"
for row; do
    if [ "$row" = transforms ]; then
        need_peer sklearn PIL
        bench/transforms.py "$rounds" | awk '
            $1 == "PIL/torchvision" { peer = $2 } $1 == "exact" { ours = $2 }
            END { printf "| augmentation with decoding, 2x224 + 6x96, per core | %.0f images/s | %.0f images/s | %.1f | | |\n", ours, peer, ours / peer }'
        continue
    fi
    line=$(bench/peer.sh "$rounds" "$row" | tail -n 1)
    echo "$line" | grep -q '^medians' || exit 1
    echo "$line" | sed 's/.*: sslrun \([0-9]*\) ms, torch nhwc \([0-9]*\), nchw \([0-9]*\); torch.sslrun \([0-9.]*\); memory \([0-9]*\) MB, torch \([0-9]*\) MB/\1 \2 \3 \4 \5 \6/' |
        awk -v what="$(say "$row")" '{ best = $2 < $3 ? $2 : $3
            printf "| %s | %d ms | %d ms | %.2f | %d MB | %d MB |\n", what, $1, best, $4, $5, $6 }'
done
