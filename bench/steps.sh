# Steps that the benches time, by name. Sourced by bench/peer.sh, bench/versions.sh and bench/roofline.sh.
# step_of NAME[-bf16]: prints the arguments of `sslrun bench`; the status is 2 for a name that is none of these.
steps="rn50 r18 mobilenet_v3_large efficientnet_b0 regnet_y_400mf convnext_tiny swin_t vit_s_16 frozen dcl swav"
trunk_step() { # NAME WIDTH BATCH: SwAV with a trunk on 2x224 crops
    echo "bench/swav_trunk.yaml MODEL.TRUNK.NAME=$1 MODEL.HEAD.PARAMS.0.1.dims=[$2,2048,128] DATA.TRAIN.BATCHSIZE_PER_REPLICA=$3"
}
step_of() {
    case ${1%-bf16} in
    rn50) echo "configs/pretrain/swav/swav_resnet50.yaml DATA.TRAIN.BATCHSIZE_PER_REPLICA=8" ;;
    r18) echo "bench/swav_r18.yaml" ;;
    mobilenet_v3_large) trunk_step mobilenet_v3_large 960 8 ;;
    efficientnet_b0) trunk_step efficientnet_b0 1280 8 ;;
    regnet_y_400mf) trunk_step regnet_y_400mf 440 8 ;;
    convnext_tiny) trunk_step convnext_tiny 768 8 ;;
    swin_t) trunk_step swin_t 768 4 ;;
    vit_s_16) trunk_step vision_transformer 384 8
        for o in NUM_HEADS=6 HIDDEN_DIM=384 MLP_DIM=1536 QKV_BIAS=True; do echo "MODEL.TRUNK.VISION_TRANSFORMERS.$o"; done ;;
    frozen) echo "resnet50 --forward-only --batch 16" ;;
    dcl) echo "configs/pretrain/dcl/dcl_cifar10.yaml ~DATA.STAGES" ;; # older programs do not know that key
    swav) echo "configs/swav.yaml" ;;
    *) echo "unknown step '$1'; expected one of: $steps, or one with -bf16" >&2; return 2 ;;
    esac
    case $1 in
    frozen-bf16) echo "--bf16" ;;
    *-bf16) echo "MODEL.AMP_PARAMS.USE_AMP=true" ;;
    esac
}
