// Adds the averaged model's entries to the table and updates them.
#include "trainer/run/ema_model.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "trainer/model/weights_init.h"

enum { NAME_BYTES = 512 };

static SrStatus add_twin(SrParams *params, int from, int *to) {
    char name[NAME_BYTES];
    SrParam p = *sr_params_at(params, from);
    snprintf(name, sizeof name, SR_EMA_PREFIX "%s", p.name);
    SrSlot slot = {.name = p.name,
                   .shape = p.shape,
                   .dtype = p.dtype,
                   .kind = SR_SLOT_STATE,
                   .role = p.role,
                   .init = p.init};
    return sr_params_add(params, name, &slot, to);
}

SrStatus sr_ema_model_add(SrEmaModel *ema, SrParams *params, const SrEmaConfig *config,
                          SrArena *arena) {
    int count = sr_params_count(params); // before the copies are appended
    *ema = (SrEmaModel){.config = *config};
    if (!config->save)
        return SR_OK;
    ema->from = sr_arena_alloc(arena, (size_t)count * sizeof *ema->from + 1);
    ema->to = sr_arena_alloc(arena, (size_t)count * sizeof *ema->to + 1);
    SR_TRY_MEMORY(ema->from && ema->to, "HOOKS.EMA_MODEL");
    for (int i = 0; i < count; i++) {
        const char *name = sr_params_at(params, i)->name;
        if (!sr_text_starts(name, "trunk.") && !sr_text_starts(name, "heads."))
            continue;
        SR_TRY(add_twin(params, i, &ema->to[ema->n]));
        ema->from[ema->n++] = i;
    }
    return SR_OK;
}

typedef struct {
    const SrEmaModel *ema;
    SrParams *params;
    float keep; // DECAY.  0: copy the model
} Update;

// Updates an entry; counters are copied.  Each entry is one task, so bits do not depend on threads.
static void update_entry(void *arg, int64_t i, int thread) {
    const Update *u = arg;
    const SrParam *m = sr_params_at(u->params, u->ema->from[i]);
    const SrParam *twin = sr_params_at(u->params, u->ema->to[i]);
    SR_ASSERT(m->dtype == twin->dtype && sr_shape_count(m->shape) == sr_shape_count(twin->shape));
    int64_t n = sr_shape_count(m->shape);
    (void)thread;
    if (m->dtype != SR_F32 || u->keep <= 0) {
        memcpy(twin->value, m->value, (size_t)n * sr_dtype_bytes(m->dtype));
        return;
    }
    const float *x = m->value;
    float *e = twin->value;
    for (int64_t k = 0; k < n; k++)
        e[k] = u->keep * e[k] + (1 - u->keep) * x[k];
}

static void update(const SrEmaModel *ema, SrParams *params, double keep) {
    Update u = {ema, params, (float)keep};
    sr_parallel_for(ema->n, update_entry, &u);
}

void sr_ema_model_start(const SrEmaModel *ema, SrParams *params) { update(ema, params, 0); }

void sr_ema_model_update(const SrEmaModel *ema, SrParams *params, int64_t iteration,
                         int64_t max_iterations) {
    double where = (double)iteration / (double)SR_MAX(max_iterations, 1);
    SR_ASSERT(iteration >= 0);
    if (iteration % ema->config.update_iter == 0)
        update(ema, params, where < ema->config.warmup ? 0 : ema->config.decay);
}
