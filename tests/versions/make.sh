#!/bin/sh
# Makes the corpus of a release: what its program leaves on a disk, small enough for the tree. The suite `versions` opens
# and continues it with the present program.
#
#   tests/versions/make.sh PROGRAM OUT.tar.xz
#
# Runs are cut off after their 6th of 12 updates, as a kill leaves them. Next to each lies what the release itself
# reached: RUN.final.safetensors.
set -eu
program=$(realpath "$1") out=$(realpath "$2") files=$(cd "$(dirname "$0")/../data/files" && pwd)
work=$(mktemp -d)
trap 'code=$?; test $code = 0 || cat "$work/log" >&2; rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 LC_ALL=C.UTF-8
"$program" --version | sed 1q >VERSION

# Trains run $1 with loss $2, collator $3, head $4 and keys of the optimiser $5, and cuts it off.
run() {
    cat >"$1.yaml" <<END
config:
  LOG_FREQUENCY: 1
  TEST_MODEL: False
  DATA:
    NUM_DATALOADER_WORKERS: 0
    TRAIN:
      DATA_SOURCES: [synthetic]
      RANDOM_SYNTHETIC_IMAGES: True
      RANDOM_SYNTHETIC_LABELS: 4
      DEFAULT_GRAY_IMG_SIZE: 20
      DATA_LIMIT: 32
      BATCHSIZE_PER_REPLICA: 8
      COLLATE_FUNCTION: $3
      TRANSFORMS:
        - {name: ImgPilToMultiCrop, total_num_crops: 2, num_crops: [2], size_crops: [16], crop_scales: [[0.3, 1.0]]}
        - {name: RandomHorizontalFlip}
        - {name: ImgPilColorDistortion}
        - {name: ToTensor}
        - {name: Normalize}
  MODEL:
    TRUNK: {NAME: resnet_cifar, RESNET_CIFAR: {DEPTH: 8, WIDTH_MULTIPLIER: 0.125}}
    HEAD: {PARAMS: [$4]}
  LOSS: {name: $2}
  OPTIMIZER:
    $5
    num_epochs: 3
    param_schedulers: {lr: {name: cosine, start_value: 0.05, end_value: 0.005, update_interval: step}}
  CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 2, KEEP_LAST: 100}
END
    "$program" train "$1.yaml" "CHECKPOINT.DIR=$1" >log 2>&1
    mv "$1/model_final_checkpoint_phase2.safetensors" "$1.final.safetensors"
    find "$1" -name 'model_*' ! -name model_iteration6.safetensors -delete
    ln -sfn model_iteration6.safetensors "$1/checkpoint.safetensors"
    rm "$1/report.html" "$1/.lock"
}
mlp='[mlp, {dims: [8, 8]}]'
run swav 'swav_loss, swav_loss: {queue: {start_iter: 2, queue_length: 16}}' multicrop_collator \
    '[swav_head, {dims: [8, 8], use_bn: True, num_clusters: [6]}]' 'use_larc: True'
run moco 'moco_loss, moco_loss: {embedding_dim: 8, queue_size: 24, momentum: 0.9}' moco_collator "$mlp" 'nesterov: True'
run adamw 'simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: 8}}' simclr_collator "$mlp" 'name: adamw'

# Weights in each format, features, shards with their index, and an index of a folder where the release has one.
mkdir -p images/a images/b
cp "$files/gray.jpg" images/a
cp "$files/progressive.jpg" images/b
for form in pth npz; do
    "$program" convert swav.final.safetensors "weights.$form" >log 2>&1
done
"$program" extract swav/train_config.yaml --weights swav.final.safetensors --nodes flatten --data images --out features \
    >log 2>&1
"$program" pack images --out shards >log 2>&1
if "$program" index --help >/dev/null 2>&1; then
    "$program" index images --model swav.final.safetensors --index images.index >log 2>&1
fi
rm log
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cJf "$out" .
