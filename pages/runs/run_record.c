// Writes and reads run.json, and tells whether a process trains in a run folder.
#include "pages/runs/run_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/machine_text.h"
#include "base/parallel.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"
#include "base/version.h"
#include "kernels/machine.h"
#include "pages/runs/config_changes.h"

// ---- writing ------------------------------------------------------------------------------------

static SrStatus put_text(SrArena *arena, SrYaml *map, const char *key, const char *text) {
    SrYaml *node = sr_yaml_new(arena, SR_YAML_STRING, "run", 0);
    if (node)
        node->text = sr_arena_strdup(arena, text);
    SR_TRY_MEMORY(node && node->text, SR_RUN_RECORD);
    return sr_yaml_put(arena, map, key, node);
}

static SrStatus put_list(SrArena *arena, SrYaml *map, const char *key, SrStrings strings) {
    SrYaml *list = sr_yaml_new(arena, SR_YAML_LIST, "run", 0);
    SR_TRY_MEMORY(list, SR_RUN_RECORD);
    for (int i = 0; i < strings.n; i++) {
        SrYaml *node = sr_yaml_new(arena, SR_YAML_STRING, "run", 0);
        SR_TRY_MEMORY(node, SR_RUN_RECORD);
        node->text = strings.v[i];
        SR_TRY(sr_yaml_append(arena, list, node));
    }
    return sr_yaml_put(arena, map, key, list);
}

static SrStatus fill(const SrConfig *config, SrStrings words, const char *command, SrArena *arena,
                     SrYaml *map) {
    char machine[256], folder[4096];
    SrStrings changed;
    SR_TRY(sr_config_changes(config, arena, &changed));
    SR_TRY(put_text(arena, map, "command", command));
    SR_TRY(put_list(arena, map, "words", words));
    SR_TRY(put_text(arena, map, "folder", getcwd(folder, sizeof folder) ? folder : ""));
    SR_TRY(put_text(arena, map, "config", config->path));
    SR_TRY(put_text(arena, map, "version", SR_VERSION));
    SR_TRY(put_text(arena, map, "machine", sr_machine_text(machine, sizeof machine)));
    SR_TRY(put_text(arena, map, "kernels", sr_machine_name(sr_machine_default())));
    SR_TRY(put_list(arena, map, "changed", changed));
    SR_TRY(sr_tree_put_int(arena, map, "threads", sr_parallel_threads()));
    SR_TRY(sr_tree_put_int(arena, map, "ranks", sr_comm_size()));
    SR_TRY(sr_tree_put_int(arena, map, "pid", getpid()));
    return sr_tree_put_int(arena, map, "started", (int64_t)time(NULL));
}

void sr_run_record_write(const SrConfig *config, const char *const *words, int n_words,
                         const char *command) {
    SrArena arena = SR_ARENA_INIT;
    SrText text = SR_TEXT_INIT;
    char path[4096];
    SrStatus status;
    SrYaml *map = sr_yaml_new(&arena, SR_YAML_MAP, "run", 0);
    SR_TRY_GOTO(map ? SR_OK : sr_out_of_memory(SR_RUN_RECORD));
    SR_TRY_GOTO(fill(config, (SrStrings){n_words, words}, command, &arena, map));
    SR_TRY_GOTO(sr_file_join(path, sizeof path, config->checkpoint.dir, SR_RUN_RECORD));
    sr_json_print(map, &text);
    sr_text_add(&text, "\n");
    SR_TRY_GOTO(sr_file_write_text(path, &text));
done:
    if (status != SR_OK)
        sr_warn("no " SR_RUN_RECORD ": %s", sr_status_message());
    sr_status_clear();
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
}

// ---- reading ------------------------------------------------------------------------------------

static SrStrings strings_of(SrArena *arena, const SrYaml *list) {
    SrStrings out = {0, NULL};
    if (!list || list->type != SR_YAML_LIST)
        return out;
    const char **v = sr_arena_alloc(arena, (size_t)(list->n + 1) * sizeof *v);
    for (int i = 0; v && i < list->n; i++)
        v[out.n++] = list->items[i]->text ? list->items[i]->text : "";
    out.v = v;
    return out;
}

SrStatus sr_run_record_read(const char *run, SrRunRecord *out) {
    char path[4096];
    SrYaml *map = NULL;
    *out = (SrRunRecord){.command = ""};
    SR_TRY(sr_file_join(path, sizeof path, run, SR_RUN_RECORD));
    SrStatus status = sr_file_exists(path) ? sr_json_load(&out->arena, path, 1 << 20, &map) : SR_OK;
    if (status == SR_ERR_IO || status == SR_ERR_MEMORY)
        return status;
    if (status != SR_OK)
        map = NULL; // a damaged file counts as empty
    out->command = sr_tree_text(map, "command", "");
    out->words = strings_of(&out->arena, sr_yaml_find(map, "words"));
    out->folder = sr_tree_text(map, "folder", "");
    out->config = sr_tree_text(map, "config", "");
    out->version = sr_tree_text(map, "version", "");
    out->machine = sr_tree_text(map, "machine", "");
    out->kernels = sr_tree_text(map, "kernels", "");
    out->changed = strings_of(&out->arena, sr_yaml_find(map, "changed"));
    out->threads = (int)sr_tree_int(map, "threads", 0);
    out->ranks = (int)sr_tree_int(map, "ranks", 1);
    out->pid = sr_tree_int(map, "pid", 0);
    out->started = sr_tree_int(map, "started", 0);
    return SR_OK;
}

void sr_run_record_deinit(SrRunRecord *record) { sr_arena_deinit(&record->arena); }

// Tries the lock and releases it at once.
bool sr_run_is_live(const char *run) {
    char path[4096];
    if (sr_file_join(path, sizeof path, run, ".lock") != SR_OK)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool live = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return live;
}
