// Checks that the files and folders that a configuration names exist.
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/yaml_edit.h"
#include "losses/loss.h"
#include "trainer/config/home_paths.h"
#include "trainer/config/paths_check.h"
#include "trainer/config/vissl/schema.h"

#define TEACHER_FILE "DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT.PARAMS_FILE"

// VISSL's files have a sentence ("specify the model weights") where the user's file belongs: it has
// blanks, and is no path.
bool sr_weights_are_placeholder(const char *path) {
    return strchr(path, ' ') && !strpbrk(path, "/.\\") && !sr_file_exists(path);
}

// Passes over URLs: the reader of the file says that nothing fetches them.
static SrStatus check_path(const SrConfig *config, const char *key, const char *path) {
    if (!*path || strstr(path, "://") || sr_file_exists(path))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: %s: there is no file or folder '%s'",
            sr_yaml_place(sr_yaml_find_path(config->tree, key)).text, key, path);
}

// Warns of a placeholder: the step can be planned without weights.
static SrStatus check_weights(const SrConfig *config, const char *key, const char *path) {
    if (!sr_weights_are_placeholder(path))
        return check_path(config, key, path);
    sr_warn("%s: %s is a placeholder ('%s'); name a file before you start the run",
            sr_yaml_place(sr_yaml_find_path(config->tree, key)).text, key, path);
    return SR_OK;
}

static bool has_teacher(const SrConfig *config) {
    const SrLoss *loss;
    return config->loss_name && *config->loss_name &&
           sr_loss_find(config->loss_name, &loss) == SR_OK && loss->has_teacher;
}

static const char *teacher_file(const SrConfig *config) {
    return sr_tree_text(config->tree, TEACHER_FILE, "");
}

// Expands "~/" itself: the teacher's map becomes a configuration later, when its model is built.
static SrStatus check_teacher(const SrConfig *config) {
    const char *path = teacher_file(config);
    SrArena arena = SR_ARENA_INIT;
    if (!*path && has_teacher(config))
        sr_warn("%s: " TEACHER_FILE " is empty; name the weights of the teacher before you start "
                "the run",
                config->path);
    SrStatus status = sr__expand_home(&arena, &path);
    if (status == SR_OK)
        status = check_weights(config, TEACHER_FILE, path);
    sr_arena_deinit(&arena);
    return status;
}

bool sr_config_names_weights(const SrConfig *config) {
    const char *teacher = teacher_file(config);
    return !sr_weights_are_placeholder(config->model.params_file) &&
           !sr_weights_are_placeholder(teacher) && (*teacher || !has_teacher(config));
}

SrStatus sr_config_check_paths(const SrConfig *config, SrProblems *problems) {
    const struct {
        const char *key;
        const SrStrings *paths;
    } rows[] = {{"DATA.TRAIN.DATA_PATHS", &config->train.data_paths},
                {"DATA.TRAIN.LABEL_PATHS", &config->train.label_paths},
                {"DATA.TEST.DATA_PATHS", &config->test.data_paths},
                {"DATA.TEST.LABEL_PATHS", &config->test.label_paths}};
    for (int i = 0; i < SR_COUNT(rows); i++)
        for (int k = 0; k < rows[i].paths->n; k++)
            SR_TRY(
                sr_problems_keep(problems, check_path(config, rows[i].key, rows[i].paths->v[k])));
    SR_TRY(sr_problems_keep(problems, check_teacher(config)));
    return sr_problems_keep(problems, check_weights(config, "MODEL.WEIGHTS_INIT.PARAMS_FILE",
                                                    config->model.params_file));
}
