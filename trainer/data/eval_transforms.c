// Resize, centre crop, tensor and statistics of pixels (torchvision's presets of IMAGENET1K_V1).
#include "trainer/data/eval_transforms.h"

#include "base/compiler.h"
#include "base/text/yaml_load.h"

// ImageNet's convention is a resize to 256 for a crop of 224; small images have no margin to give
// away.
void sr_eval_transforms_crop(int h, int w, SrText *out) {
    int crop = SR_MAX(h, w), resize = crop < 64 ? crop : crop * 8 / 7;
    sr_text_printf(out, "[{name: Resize, size: %d}, {name: CenterCrop, size: ", resize);
    if (h == w)
        sr_text_printf(out, "%d", h);
    else
        sr_text_printf(out, "[%d, %d]", h, w);
    sr_text_add(out, "}, {name: ToTensor}");
}

void sr_eval_transforms_preset(const SrPreset *preset, int h, int w, SrText *out) {
    const SrPresetPixels *pixels = sr_preset_pixels(preset);
    const double *mean = pixels->mean, *std = pixels->std;
    if (pixels->fit == SR_FIT_BOTH)
        sr_text_printf(out,
                       "[{name: Resize, size: [%d, %d], interpolation: bicubic}, "
                       "{name: ToTensor}",
                       h, w);
    else if (pixels->fit == SR_FIT_SHORTER)
        sr_text_printf(out,
                       "[{name: Resize, size: %d, interpolation: bicubic}, {name: CenterCrop, "
                       "size: [%d, %d]}, {name: ToTensor}",
                       SR_MAX(h, w), h, w);
    else
        sr_eval_transforms_crop(h, w, out);
    sr_text_printf(out, ", {name: Normalize, mean: [%g, %g, %g], std: [%g, %g, %g]}]", mean[0],
                   mean[1], mean[2], std[0], std[1], std[2]);
}

SrStatus sr_eval_transforms_parse(const SrPreset *preset, int h, int w, SrArena *arena,
                                  SrYaml **out) {
    SrText text = SR_TEXT_INIT;
    sr_eval_transforms_preset(preset, h, w, &text);
    SrStatus status = text.failed
                          ? sr_out_of_memory("the transforms of evaluation")
                          : sr_yaml_parse(arena, text.s, text.len, "transforms of evaluation", out);
    sr_text_deinit(&text);
    return status;
}
