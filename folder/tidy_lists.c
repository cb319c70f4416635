// Makes the texts of a list of paths and of a shell script.
#include "folder/tidy_lists.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/image_pool.h"

typedef struct {
    const SrImageSet *images;
    const SrTidy *tidy;
    SrImagePool *pool;
    SrTidyIssue *why; // (n) first issue of each file that is dropped
    uint8_t *drop;    // (n)
    SrText keep, script, labels;
} Lists;

// Members of archives have no absolute path; their name stays.
static SrStatus path_of(Lists *l, int64_t i, char out[PATH_MAX]) {
    const char *name;
    sr_image_pool_reset(l->pool);
    SR_TRY(sr_image_set_name(l->images, i, l->pool, &name));
    if (!realpath(name, out))
        snprintf(out, PATH_MAX, "%s", name);
    return SR_OK;
}

// The number in front keeps files of one name apart.
static void add_move(Lists *l, int64_t i, const char *path) {
    const char *slash = strrchr(path, '/');
    char to[PATH_MAX];
    snprintf(to, sizeof to, "tidy-aside/%s/%lld-%.255s", sr_tidy_name(l->why[i]), (long long)i,
             slash ? slash + 1 : path);
    sr_text_add(&l->script, "mv -n -- ");
    sr_text_add_word(&l->script, path);
    sr_text_add(&l->script, " ");
    sr_text_add_word(&l->script, to);
    sr_text_add(&l->script, "\n");
}

static void add_label(Lists *l, int64_t i) {
    int64_t label = sr_image_set_label(l->images, i);
    sr_text_add(&l->labels, label < 0 ? "" : sr_image_set_class(l->images, (int)label));
    sr_text_add(&l->labels, "\n");
}

static void begin_script(Lists *l, const bool issues[SR_TIDY_ISSUES]) {
    sr_text_add(&l->script,
                "#!/bin/sh\n# Written by sslrun tidy: moves files aside. Read it before "
                "you run it.\nmkdir -p");
    for (int k = 0; k < SR_TIDY_ISSUES; k++)
        if (issues[k])
            sr_text_printf(&l->script, " tidy-aside/%s", sr_tidy_name((SrTidyIssue)k));
    sr_text_add(&l->script, "\n");
}

static SrStatus fill(Lists *l, const bool issues[SR_TIDY_ISSUES], SrTidyLists *out) {
    char path[PATH_MAX];
    sr_tidy_drop(l->tidy, issues, l->drop);
    for (int64_t i = l->tidy->n_findings - 1; i >= 0; i--)
        if (issues[l->tidy->finding[i].issue])
            l->why[l->tidy->finding[i].file] = l->tidy->finding[i].issue;
    begin_script(l, issues);
    for (int64_t i = 0; i < l->tidy->n; i++) {
        SR_TRY(path_of(l, i, path));
        if (l->drop[i]) {
            out->dropped++;
            add_move(l, i, path);
        } else if (strpbrk(path, "\r\n")) {
            out->unnamed++;
        } else {
            out->kept++;
            sr_text_add(&l->keep, path);
            sr_text_add(&l->keep, "\n");
            add_label(l, i);
        }
    }
    return l->keep.failed || l->script.failed || l->labels.failed ? sr_out_of_memory("a list")
                                                                  : SR_OK;
}

SrStatus sr_tidy_write_lists(const SrImageSet *images, const SrTidy *tidy,
                             const bool issues[SR_TIDY_ISSUES], SrTidyLists *out) {
    size_t n = (size_t)tidy->n;
    Lists l = {.images = images,
               .tidy = tidy,
               .why = sr_calloc(n, sizeof *l.why),
               .drop = sr_calloc(n, 1)};
    SrStatus status = l.why && l.drop ? sr_image_pool_new(&l.pool) : sr_out_of_memory("a list");
    out->kept = out->dropped = out->unnamed = 0;
    if (status == SR_OK)
        status = fill(&l, issues, out);
    if (status == SR_OK && out->keep)
        status = sr_file_write_text(out->keep, &l.keep);
    if (status == SR_OK && out->script)
        status = sr_file_write_text(out->script, &l.script);
    if (status == SR_OK && out->labels)
        status = sr_file_write_text(out->labels, &l.labels);
    sr_text_deinit(&l.labels);
    sr_image_pool_free(l.pool);
    sr_free(l.why);
    sr_free(l.drop);
    sr_text_deinit(&l.keep);
    sr_text_deinit(&l.script);
    return status;
}
