// Finds outputs of the model by name.
#include "losses/shared/outputs.h"

#include <string.h>

#include "base/text/text.h"

const SrOutput *sr_outputs_find(const SrOutputs *outputs, const char *name, int n) {
    for (int i = 0; i < outputs->n; i++)
        if (outputs->v[i].name && strcmp(outputs->v[i].name, name) == 0 && n-- == 0)
            return &outputs->v[i];
    return NULL;
}

static SrStatus missing(SrBuilder *b, const SrOutputs *outputs, const char *loss,
                        const char *name) {
    SrText known = SR_TEXT_INIT;
    for (int i = 0; i < outputs->n; i++)
        sr_text_printf(&known, "%s%s", i ? ", " : "",
                       outputs->v[i].name ? outputs->v[i].name : "one without a name");
    SrStatus status = sr_builder_fail(b, SR_ERR_CONFIG,
                                      "%s needs the output '%s' of the model, but the model gives "
                                      "%s; use another head in MODEL.HEAD.PARAMS",
                                      loss, name, known.s ? known.s : "none");
    sr_text_deinit(&known);
    return status;
}

SrStatus sr_outputs_get(SrBuilder *b, const SrOutputs *outputs, const char *loss, const char *name,
                        SrNodeId *node) {
    const SrOutput *found = sr_outputs_find(outputs, name, 0);
    *node = SR_NO_NODE;
    if (!found && outputs->n == 1 && !outputs->v[0].name)
        found = &outputs->v[0];
    if (!found)
        return missing(b, outputs, loss, name);
    if (sr_outputs_find(outputs, name, 1))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s needs the output '%s' of the model exactly once, but there are "
                               "several (several heads, or views whose features differ in shape)",
                               loss, name);
    *node = found->node;
    return SR_OK;
}
