// The one message every registry gives for a name it does not know.
#include "base/plugin.h"

#include "base/text.h"

SrStatus sr_plugin_unknown(const char *kind, const char *name, const char *const *known, int n) {
    SrText hint = SR_TEXT_INIT;
    int nearest = sr_text_nearest(name, known, n);
    if (nearest >= 0)
        sr_text_printf(&hint, "; did you mean '%s'?", known[nearest]);
    sr_text_add(&hint, " (known: ");
    for (int i = 0; i < n; i++)
        sr_text_printf(&hint, "%s%s", i ? ", " : "", known[i]);
    sr_text_add(&hint, n ? ")" : "none)");
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "unknown %s '%s'%s", kind, name, hint.failed ? "" : hint.s);
    sr_text_deinit(&hint);
    return status;
}
