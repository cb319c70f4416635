// The list of a configuration's mistakes, and the failure that reports them.
#include "base/problems.h"

#include <string.h>

#include "base/log.h"

SrStatus sr_problems_keep(SrProblems *p, SrStatus status) {
    if (status != SR_ERR_CONFIG || !p || p->n == SR_PROBLEMS_MAX)
        return status;
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->line[i], sr_status_message()) == 0)
            return SR_OK;
    p->line[p->n] = sr_arena_strdup(p->arena, sr_status_message());
    SR_TRY_MEMORY(p->line[p->n], "a list of errors");
    p->n++;
    return SR_OK;
}

SrStatus sr_problems_fail(const SrProblems *p, const char *what) {
    if (p->n == 0)
        return SR_OK;
    if (p->n == 1)
        SR_FAIL(SR_ERR_CONFIG, "%s", p->line[0]);
    for (int i = 0; i < p->n; i++)
        sr_log(SR_LOG_ERROR, "%s", p->line[i]);
    SR_FAIL(SR_ERR_CONFIG, "%s: %d errors, all above", what, p->n);
}
