#!/bin/sh
# Trains small recipes for 20 steps with two programs and compares the checkpoints tensor by tensor. A change that must
# not change results has to pass: each recipe prints one line, and the script ends with 1 if one differs.
#
#   tests/same_bits.sh OLD NEW [RECIPE ...]   OLD, NEW: built programs; without RECIPE all of `recipes` below
#   STEPS=n          steps of a recipe (20)
#   SR_CPU=avx2      instruction set of both programs
#   KEEP=DIR         keeps the checkpoints and logs there
#
# Data are synthetic, and nothing is built. A recipe may have suffixes: bf16, r4 (four replicas, synchronised batch norm),
# tiles (emulated tile registers), x3 (floats as three products of bfloat16, on tiles). Without SR_CPU a recipe in bfloat16
# does not use the processor's pairs: each start measures whether they are faster, and they give other bits.
cd "$(dirname "$0")/.." || exit 2
[ -x "$1" ] && [ -x "$2" ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" # leaves the cores to other programs while waiting
old=$1 new=$2 steps=${STEPS:-20}
shift 2
recipes='swav swav-bf16 swav-r4 swav-r4-bf16 moco moco-bf16 moco-r4 dino dino-bf16 dino-r4 mae mae-bf16 mae-r4
    deepcluster deepcluster-bf16 deepcluster-r4 mixup mixup-bf16 mixup-r4 wide wide-bf16 vit vit-bf16
    swav-tiles swav-tiles-bf16 swav-tiles-x3 dino-tiles-bf16'
tmp=${KEEP:-$(mktemp -d)} && mkdir -p "$tmp" || exit 2
[ "$KEEP" ] || trap 'rm -rf "$tmp"' EXIT

# Prints the configuration and the keys of a recipe without its suffixes.
settings() {
    case $1 in
    swav) echo configs/pretrain/swav/swav_cifar10.yaml LOSS.swav_loss.queue.start_iter=3 ;;
    moco) echo configs/pretrain/moco/moco_cifar10.yaml LOSS.moco_loss.queue_size=256 ;;
    dino) echo configs/pretrain/dino/dino_cifar10.yaml ;;
    mae) echo configs/pretrain/mae/mae_cifar10.yaml ;;
    deepcluster) echo configs/pretrain/deepcluster_v2/deepclusterv2_cifar10.yaml \
        'LOSS.deepclusterv2_loss.num_clusters=[40,40]' \
        'MODEL.HEAD.PARAMS=[[swav_head,{dims:[128,64,32],num_clusters:[40,40]}]]' \
        LOSS.deepclusterv2_loss.memory_params.embedding_dim=32 ;;
    mixup) echo configs/pretrain/supervised/supervised_cifar10.yaml \
        DATA.TRAIN.COLLATE_FUNCTION=cutmixup_collator \
        'DATA.TRAIN.COLLATE_FUNCTION_PARAMS={mixup_alpha:0.8,cutmix_alpha:1.0,mode:batch,num_classes:10}' ;;
    # At full width and on larger maps every design of a convolution is used.
    wide) echo configs/pretrain/supervised/supervised_cifar10.yaml MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=1 \
        MODEL.TRUNK.RESNETS.SMALL_IMAGE_STEM=False 'MODEL.HEAD.PARAMS=[[mlp,{dims:[512,10]}]]' \
        DATA.TRAIN.TRANSFORMS.0.size=96 ;;
    vit) echo configs/pretrain/dino/dino_deits16.yaml MODEL.TRUNK.VISION_TRANSFORMERS.NUM_LAYERS=2 ;;
    *) echo "tests/same_bits.sh: unknown recipe '$1'; known: $recipes" >&2; return 1 ;;
    esac
}
train() { # PROGRAM FOLDER KEY ...
    program=$1 folder=$2
    shift 2
    SR_CPU=$level "$program" train "$@" CHECKPOINT.DIR="$folder" >"$folder.log" 2>&1 || { tail -n 3 "$folder.log" >&2; return 1; }
}
newest() { find "$1" -name '*.safetensors' | sort | tail -n 1; }

status=0
for recipe in ${@:-$recipes}; do
    config=$(settings "${recipe%%-*}") || exit 2
    batch=16 replicas=1 level=$SR_CPU
    case $recipe in *-r4*) batch=8 replicas=4 config="$config MODEL.SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN=True" ;; esac
    case ${recipe%%-*} in wide | vit) batch=4 ;; esac
    case $recipe in vit*) ;; *) config="$config ~DATA.STAGES" ;; esac # older programs do not know that key
    case $recipe in *-bf16) config="$config MODEL.AMP_PARAMS.USE_AMP=True" ;; esac
    case $recipe in *-tiles*) level=${SR_CPU:-amx-emulated} ;; *-bf16) level=${SR_CPU:-avx512} ;; esac
    case $recipe in *-x3) config="$config MACHINE.FP32=x3" ;; esac
    rm -rf "$tmp/$recipe.old" "$tmp/$recipe.new"
    for side in old new; do
        eval program=\$$side
        train "$program" "$tmp/$recipe.$side" $config 'DATA.TRAIN.DATA_SOURCES=[synthetic]' \
            'DATA.TRAIN.LABEL_SOURCES=[synthetic]' DATA.TRAIN.RANDOM_SYNTHETIC_IMAGES=True 'DATA.TRAIN.DATA_PATHS=[]' \
            DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=10 DATA.TRAIN.DATA_LIMIT=$((steps * batch * replicas)) \
            DATA.TRAIN.BATCHSIZE_PER_REPLICA=$batch DISTRIBUTED.REPLICAS=$replicas OPTIMIZER.num_epochs=1 \
            TEST_MODEL=False || { echo "$recipe: $program failed"; status=1; continue 2; }
    done
    a=$(newest "$tmp/$recipe.old") b=$(newest "$tmp/$recipe.new")
    if [ "$a" ] && "$new" diff "$a" "$b" >"$tmp/$recipe.diff" 2>&1; then
        echo "$recipe: same bits"
    else
        echo "$recipe: differs ($(grep -c . "$tmp/$recipe.diff") lines of sslrun diff)"
        head -n 3 "$tmp/$recipe.diff"
        status=1
    fi
done
exit $status
