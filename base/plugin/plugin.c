// Looks up a name in a registry, and makes the message for an unknown name.
#include "base/plugin/plugin.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"

// Longest list of names that is printed together with a suggestion; `sslrun list all` prints all.
enum { SHORT_LIST = 24 };

SrStatus sr_plugin_unknown(const char *kind, const char *name, const char *const *known, int n) {
    SrText hint = SR_TEXT_INIT;
    int nearest = sr_text_nearest(name, known, n);
    if (nearest >= 0)
        sr_text_printf(&hint, "; did you mean '%s'?", known[nearest]);
    if (nearest < 0 || n <= SHORT_LIST) {
        sr_text_add(&hint, " (known: ");
        for (int i = 0; i < n; i++)
            sr_text_printf(&hint, "%s%s", i ? ", " : "", known[i]);
        sr_text_add(&hint, n ? ")" : "none)");
    }
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "unknown %s '%s'%s", kind, name, hint.failed ? "" : hint.s);
    sr_text_deinit(&hint);
    return status;
}

static SrStatus unknown(const char *kind, const char *name, const char *(*name_at)(int i), int n) {
    const char **known = sr_alloc((size_t)(n + 1) * sizeof *known);
    if (!known)
        SR_FAIL(SR_ERR_CONFIG, "unknown %s '%s'", kind, name);
    for (int i = 0; i < n; i++)
        known[i] = name_at(i);
    SrStatus status = sr_plugin_unknown(kind, name, known, n);
    sr_free(known);
    return status;
}

SrStatus sr_plugin_find(const char *kind, const char *name, const char *(*name_at)(int i),
                        int *out) {
    int n = 0;
    for (; name_at(n); n++)
        if (strcmp(name_at(n), name) == 0) {
            *out = n;
            return SR_OK;
        }
    return unknown(kind, name, name_at, n);
}
