// Opens the teacher of a run with DISTILLATION.CACHED_VIEWS, and the file of its outputs.
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/yaml.h"
#include "base/text/yaml_print.h"
#include "data/load/loader.h"
#include "kernels/machine.h"
#include "trainer/run/run_plans.h"
#include "trainer/run/run_teacher.h"

enum { PATH_BYTES = 4096 };

static bool caches(const SrRun *run) {
    return run->graph.teacher.graph && run->config->distillation.cache == SR_TEACHER_CACHE_ON;
}

// Numbers the outputs of all records, before any plan: `check` reports the size of the file.
static int64_t values_of(const SrTrainGraph *g) {
    int64_t n = 0;
    for (int i = 0; i < g->teacher.n_outputs; i++)
        n += sr_shape_count(sr_graph_at(g->teacher.graph, g->teacher.outputs[i])->shape);
    return n;
}

static int64_t batches_of(const SrRun *run) {
    int64_t images;
    if (run->steps_per_epoch > 0)
        return run->steps_per_epoch * run->config->replicas;
    if (sr_split_train_length(run->config, &images) != SR_OK)
        return 0;
    int64_t batches = images / run->config->batch;
    return run->config->replicas > 1      ? batches / run->config->replicas * run->config->replicas
           : run->config->train.drop_last ? batches
                                          : (images + run->config->batch - 1) / run->config->batch;
}

size_t sr_run_teacher_bytes(const SrRun *run) {
    SrTeacherCacheForm form = {.epochs = run->config->distillation.cached_views,
                               .batches = batches_of(run),
                               .values = values_of(&run->graph)};
    return caches(run) && form.batches > 0 ? sr_teacher_cache_bytes(&form) : 0;
}

// Adds a part of the configuration to the hash.
static SrStatus hash_tree(const SrConfig *config, const char *key, uint64_t *hash) {
    const SrYaml *node = sr_yaml_find_path(config->tree, key);
    SrText text = SR_TEXT_INIT;
    if (node)
        sr_yaml_print_flow(node, &text);
    SrStatus status = text.failed ? sr_out_of_memory("the outputs of a teacher") : SR_OK;
    *hash = sr_hash_more(*hash, text.s, text.len);
    sr_text_deinit(&text);
    return status;
}

// Hashes everything that a record's numbers depend on: the teacher, the order and the views of the
// images, the batches, and the kernels.  Of the images it knows paths and number.
static SrStatus fingerprint(const SrRun *run, uint64_t *out) {
    const SrConfig *c = run->config;
    const char *machine = sr_machine_name(sr_model_machine(run->model));
    int64_t numbers[] = {(int64_t)c->seed,
                         c->replicas,
                         c->batch,
                         run->batch,
                         run->steps_per_epoch,
                         sr_loader_samples(run->train.loader),
                         sr_model_bf16(run->model),
                         c->winograd,
                         c->fp32};
    uint64_t hash = sr_hash_more(SR_HASH_START, numbers, sizeof numbers);
    hash = sr_hash_more(hash, machine, strlen(machine));
    SR_TRY(hash_tree(c, "DATA.TRAIN", &hash));
    SR_TRY(sr_teacher_feed_hash(&run->teacher, &hash));
    *out = hash;
    return SR_OK;
}

static SrStatus open_cache(SrRun *run) {
    const SrDistillationConfig *d = &run->config->distillation;
    SrTeacherCacheForm form = {
        .epochs = d->cached_views, .batches = batches_of(run), .values = run->teacher.values};
    char path[PATH_BYTES], bytes[32];
    if (sr_comm_size() > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DISTILLATION.CACHE: several ranks cannot write one file; start one rank, or set "
                "DISTILLATION.CACHE=off");
    SR_TRY(fingerprint(run, &form.fingerprint));
    if (!*d->cache_file)
        SR_TRY(
            sr_file_join(path, sizeof path, run->config->checkpoint.dir, "teacher_outputs.cache"));
    const char *file = *d->cache_file ? d->cache_file : path;
    SR_TRY(sr_teacher_cache_open(file, &form, !*d->cache_file, &run->teacher_cache));
    sr_info("%s: %s for outputs of the teacher, %lld of %lld batches are there", file,
            sr_bytes_text((double)sr_teacher_cache_bytes(&form), bytes, sizeof bytes),
            (long long)sr_teacher_cache_written(run->teacher_cache),
            (long long)(form.epochs * form.batches));
    return SR_OK;
}

// Compiles a teacher unless that was done.
static SrStatus need(SrRun *run, SrTeacherFeed *f) {
    return f->plan ? SR_OK : sr__run_compile_teacher(run, f->graph, false, &f->plan);
}

SrStatus sr_run_teacher_open(SrRun *run) {
    if (!run->graph.teacher.graph)
        return SR_OK;
    SR_TRY(sr_teacher_feed_open(&run->teacher, &run->graph, run->plan));
    if (run->tail.batch > 0)
        SR_TRY(sr_teacher_feed_open(&run->tail.teacher, &run->tail.graph, run->tail.plan));
    if (caches(run))
        SR_TRY(open_cache(run));
    bool whole = run->teacher_cache && sr_teacher_cache_written(run->teacher_cache) ==
                                           run->config->distillation.cached_views * batches_of(run);
    if (whole)
        return SR_OK;
    SR_TRY(need(run, &run->teacher));
    return run->tail.batch > 0 ? need(run, &run->tail.teacher) : SR_OK;
}

void sr_run_teacher_close(SrRun *run) {
    sr_teacher_feed_close(&run->teacher);
    sr_teacher_feed_close(&run->tail.teacher);
    sr_teacher_cache_close(run->teacher_cache);
}

SrStatus sr_run_teacher_load(SrRun *run, int64_t at, int replica, SrFeedTarget *to, int *rows,
                             const int64_t **labels, double *wait_s) {
    SrRunTail *tail = sr_run_tail_at(run, at);
    SrTeacherFeed *f = tail ? &tail->teacher : &run->teacher;
    int mine = run->replicas ? sr_replicas_mine(run->replicas) : 1;
    int64_t number = at * mine + replica;
    const uint16_t *values = NULL;
    SrFeedTarget images;
    if (at >= run->steps_per_epoch) // the call that finds the end of the epoch
        return sr_feed_next(&run->feed, to, rows, labels, wait_s);
    if (run->teacher_cache)
        values = sr_teacher_cache_find(run->teacher_cache, run->shown_epoch, number, f->values);
    if (!values) {
        SR_TRY(need(run, f));
        images = sr_teacher_feed_target(f);
        to->also = &images;
    }
    SrStatus status = sr_feed_next(&run->feed, to, rows, labels, wait_s);
    to->also = NULL;
    if (status != SR_OK || *rows == 0)
        return status;
    if (!values) {
        values = sr_teacher_feed_run(f);
        if (run->teacher_cache)
            sr_teacher_cache_put(run->teacher_cache, run->shown_epoch, number, values, f->values);
    }
    sr_teacher_feed_give(f, values);
    return SR_OK;
}
