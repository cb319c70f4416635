// Builds and quotes the commands that verbs suggest.
#include "cli/next.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "data/image_pool.h"
#include "trainer/data/data_split.h"
#include "trainer/run/run_parts.h"

#include "gen/build.h"

enum { PATH_BYTES = 4096 };

void sr_next_add(SrText *next, const char *what, const char *const *words) {
    if (!SR_WEB && strcmp(words[0], "web") == 0)
        return;
    sr_text_add(next, next->len ? "  " : "next:\n  ");
    sr_text_add_word(next, sr_args_program());
    for (int i = 0; words[i]; i++) {
        sr_text_add(next, " ");
        sr_text_add_word(next, words[i]);
    }
    sr_text_printf(next, "\n      %s\n", what);
}

void sr_next_add_again(SrText *next, const char *what, const char *const *more) {
    const char *words[2 * SR_ARGS_MAX + 1];
    int n = sr_args_words(NULL, words);
    for (int i = 0; more[i] && n < 2 * SR_ARGS_MAX; i++)
        words[n++] = more[i];
    words[n] = NULL;
    sr_next_add(next, what, words + 1); // sr_next_add writes the program's name
}

void sr_next_add_config(SrText *next, const char *what, const char *verb, const SrConfig *config,
                        const SrArgs *args) {
    const char *words[SR_ARGS_MAX + 3];
    int n = 0;
    if (verb)
        words[n++] = verb;
    words[n++] = config->path;
    for (int i = 0; i < args->n_overrides; i++)
        if (!sr_text_starts(args->overrides[i], "config=")) // names the configuration itself
            words[n++] = args->overrides[i];
    words[n] = NULL;
    sr_next_add(next, what, words);
}

void sr_next_add_web(SrText *next, const char *run) {
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", run);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        folder[n - 1] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    SR_NEXT(next, "shows all runs of the folder as a live page", "web", slash ? folder : ".");
}

// Gets the file of the first training image; false: images are not files.
static bool first_image(const SrSplit *split, char out[PATH_BYTES]) {
    SrImagePool *pool;
    const char *path = NULL;
    if (!split->source || !split->source->path || sr_image_pool_new(&pool) != SR_OK)
        return false;
    bool found =
        split->source->path(split->set, 0, pool, &path) == SR_OK && path && sr_file_exists(path);
    if (found)
        snprintf(out, PATH_BYTES, "%s", path);
    sr_image_pool_free(pool);
    return found;
}

void sr_next_add_trained(SrText *next, const SrRun *run) {
    const SrSplitConfig *train = &run->config->train;
    const char *dir = run->config->checkpoint.dir;
    const SrSplit *split = &run->train;
    char image[PATH_BYTES];
    if (*run->config->model.params_file && split->classes > 1 && split->n_targets == 0)
        SR_NEXT(next, "compares the trunk before and after this training", "compare", dir);
    if (train->data_paths.n != 1 || !*train->data_paths.v[0])
        return;
    const char *data = train->data_paths.v[0];
    if (split->classes > 1 && split->n_targets == 0 && !run->config->supervised)
        SR_NEXT(next, "trains a classifier on the best layer and evaluates it per class", "linear",
                dir, train->label_paths.n == 0 ? "--data" : NULL, data);
    if (first_image(split, image))
        SR_NEXT(next, "lists the images that are most similar to one of them", "similar", image,
                "--in", data, "--model", dir);
}

void sr_next_say(SrText *next) {
    char *save = NULL;
    for (char *line = next->s ? strtok_r(next->s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        sr_info("%s", line);
    sr_text_deinit(next);
}
