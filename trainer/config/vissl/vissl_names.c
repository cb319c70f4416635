// Holds the names in VISSL's registries, and reads this program's registries by the same kinds.
// Names that end in _fsdp are left out: trainer/config/vissl/sharding.c removes the ending.
#include "trainer/config/vissl/vissl_names.h"

#include <string.h>

#include "base/compiler.h"
#include "data/collator.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "trainer/optim/optimizer.h"
#include "trunks/trunk.h"

// clang-format off
static const char *const trunks[] = {
    "alexnet_bvlc", "alexnet_colorization", "alexnet_deepcluster", "alexnet_jigsaw", "alexnet_rotnet", "beit",
    "classy_vit", "convit", "convnext", "efficientnet", "mobilenetv3_timm", "mobilenetv3_tv", "regnet", "regnet_v2",
    "resnet", "resnet_sk", "swin_transformer", "swin_transformer_official", "vision_transformer", "xcit", NULL};
static const char *const losses[] = {
    "CrossEntropyLoss", "barlow_twins_loss", "bce_logits_multiple_output_single_target",
    "cross_entropy_multiple_output_single_target", "deepclusterv2_loss", "dino_distillation_loss", "dino_loss",
    "distillation_loss", "ibot_distillation_loss", "ibot_loss", "moco_loss", "msn_distillation_loss", "msn_loss",
    "multicrop_simclr_info_nce_loss", "nce_loss_with_memory", "simclr_info_nce_loss", "swav_distillation_loss",
    "swav_loss", "swav_momentum_loss", NULL};
static const char *const heads[] = {
    "dino_head", "eval_mlp", "eval_mlp_pooled", "ibot_distillation_head", "ibot_head", "identity", "mlp", "mlp_res",
    "mobilenet_v3_head", "mobilenet_v3_head_timm", "msn_head", "siamese_concat_view", "swav_head",
    "vision_transformer_head", NULL};
// VISSL's own names come first, then torchvision's.
static const char *const transforms[] = {
    "ImgPatchesFromTensor", "ImgPil2LabTensor", "ImgPilColorDistortion", "ImgPilGaussianBlur",
    "ImgPilMultiCropRandomApply", "ImgPilRandomColorJitter", "ImgPilRandomPhotometric", "ImgPilRandomSolarize",
    "ImgPilResizeLargerSide", "ImgPilToMultiCrop", "ImgPilToPatchesAndImage", "ImgPilToRawTensor", "ImgReplicatePil",
    "ImgRotatePil", "MNISTImgPil2RGB", "MaskedImageModeling", "OneHotEncode", "RandAugment", "ShuffleImgPatches",
    "VisslAutoAugment",
    "AutoAugment", "CenterCrop", "ColorJitter", "ConvertImageDtype", "FiveCrop", "GaussianBlur", "Grayscale",
    "LinearTransformation", "Normalize", "Pad", "RandomAdjustSharpness", "RandomAffine", "RandomApply",
    "RandomAutocontrast", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPosterize",
    "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomVerticalFlip", "Resize", "TenCrop",
    "ToPILImage", "ToTensor", NULL};
static const char *const collators[] = {
    "cutmixup_collator", "default_collate", "ibot_multicrop_masking_collator", "identity", "moco_collator",
    "multicrop_collator", "multicrop_mixup_collator", "patch_and_image_collator", "siamese_collator",
    "simclr_collator", "targets_one_hot_default_collator", NULL};
static const char *const sources[] = {
    "airstore", "disk_filelist", "disk_folder", "disk_roi_annotations", "everstore", "manifold", "synthetic",
    "torchvision_dataset", NULL};
static const char *const optimizers[] = {"adam", "adamw", "lars", "rmsprop", "rmsprop_tf", "sgd", "zero", NULL};
// clang-format on

// ---- ours

// The build makes the registries.  Their elements differ in type, so each needs its own function.
#define BUILT(noun, Type)                   \
    static const char *noun##_name(int i) { \
        const Type *p = sr_##noun##_at(i);  \
        return p ? p->name : NULL;          \
    }
BUILT(trunk, SrTrunk)
BUILT(loss, SrLoss)
BUILT(head, SrHead)
BUILT(transform, SrTransform)
BUILT(collator, SrCollator)
BUILT(dataset, SrDataset)
BUILT(optimizer, SrOptimizer)

// `noun` is the word in messages and in tests/vissl/files.txt.
static const struct {
    const char *noun;
    const char *const *vissl; // ends with NULL
    const char *(*built)(int i);
} kinds[SR_NAME_KINDS] = {
    [SR_NAME_TRUNK] = {"trunk", trunks, trunk_name},
    [SR_NAME_LOSS] = {"loss", losses, loss_name},
    [SR_NAME_HEAD] = {"head", heads, head_name},
    [SR_NAME_TRANSFORM] = {"transform", transforms, transform_name},
    [SR_NAME_COLLATOR] = {"collator", collators, collator_name},
    [SR_NAME_SOURCE] = {"data source", sources, dataset_name},
    [SR_NAME_OPTIMIZER] = {"optimizer", optimizers, optimizer_name},
};

const char *sr__name_kind(SrNameKind kind) { return kinds[kind].noun; }

const char *sr__vissl_name_at(SrNameKind kind, int i) { return kinds[kind].vissl[i]; }

const char *sr__built_name_at(SrNameKind kind, int i) { return kinds[kind].built(i); }

// A linear search is enough: the longest list has seventy names, each looked up once per run.
bool sr__is_vissl_name(SrNameKind kind, const char *name) {
    for (int i = 0; kinds[kind].vissl[i]; i++)
        if (strcmp(kinds[kind].vissl[i], name) == 0)
            return true;
    return false;
}

bool sr__is_built_name(SrNameKind kind, const char *name) {
    for (int i = 0; kinds[kind].built(i); i++)
        if (strcmp(kinds[kind].built(i), name) == 0)
            return true;
    return false;
}
