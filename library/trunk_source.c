// Finds what a trunk's name means to the functions of sslrun.h.
#include "library/trunk_source.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"
#include "trainer/eval/extract/feature_images.h"
#include "trainer/model/trunk_graph.h"
#include "trainer/run/run_folder.h"

void sr__library_start(void) {
    sr_log_set_level(SR_LOG_WARN);
    sr_parallel_init();
}

static SrStatus read_config(SrTrunkSource *s) {
    SrSafetensors st;
    SR_TRY(sr_safetensors_map(&st, s->trunk));
    const char *text = sr_safetensors_meta(&st, "config");
    s->config_text = text ? sr_strdup(text) : NULL;
    sr_safetensors_close(&st);
    if (!text)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds no configuration: a checkpoint of `sslrun train` is expected, other "
                "weights are loaded by sr_feature_model_tap or sr_model_graph_open",
                s->trunk);
    return s->config_text ? SR_OK : sr_out_of_memory("%s", s->trunk);
}

static SrStatus find_trunk(SrTrunkSource *s, const char *trunk) {
    char path[4096];
    SR_TRY(sr_folder_weights(trunk, path, sizeof path));
    s->trunk = sr_strdup(path);
    SR_TRY_MEMORY(s->trunk, "%s", path);
    return sr_text_ends(path, ".safetensors") ? read_config(s) : SR_OK;
}

// Asks the configuration for the size before there is a graph: some trunks take one size alone.
static SrStatus find_size(SrTrunkSource *s) {
    SrConfig *config = NULL;
    const SrPreset *preset = NULL;
    SrFeatureImages images = {.h = 0};
    SrStatus status = SR_OK;
    if (s->config_text)
        SR_TRY_GOTO(sr_config_parse_saved(s->config_text, s->trunk, &config));
    else if (sr_trunk_is_config(s->trunk))
        SR_TRY_GOTO(sr_config_load(s->trunk, NULL, 0, &config));
    else
        SR_TRY_GOTO(sr_preset_find(s->trunk, &preset));
    SR_TRY_GOTO(sr_feature_images_open(config, preset, 0, 0, &images));
    s->height = images.h;
    s->width = images.w;
done:
    sr_feature_images_close(&images);
    sr_config_free(config);
    return status;
}

SrStatus sr__trunk_source_open(const char *trunk, int height, int width, SrTrunkSource *out) {
    *out = (SrTrunkSource){.height = height, .width = width};
    sr__library_start();
    SrStatus status = find_trunk(out, trunk);
    if (status == SR_OK && height == 0 && width == 0)
        status = find_size(out);
    if (status != SR_OK)
        sr__trunk_source_close(out);
    return status;
}

void sr__trunk_source_close(SrTrunkSource *s) {
    sr_free(s->trunk);
    sr_free(s->config_text);
    *s = (SrTrunkSource){.trunk = NULL};
}
