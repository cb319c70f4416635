// Candidates for the last word of a command line, for the completions of shells.
#include "cli/help/words.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/text.h"
#include "cli/args/args.h"
#include "cli/verb.h"
#include "pages/runs/run_registry.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/model/trunk_graph.h"
#include "trunks/presets.h"

enum {
    SIDE = 64,
    PATH_BYTES = 4096
}; // SIDE: any size that a trunk accepts gives its layers' names

typedef struct {
    const char *begun; // beginning of every candidate
    const char *kept;  // text before each candidate, as "layer1," before "layer2"
    int kept_len;
    SrText *out;
} Words;

static void offer(const Words *w, const char *word, const char *behind) {
    if (strncmp(word, w->begun, strlen(w->begun)) == 0)
        sr_text_printf(w->out, "%.*s%s%s\n", w->kept_len, w->kept, word, behind);
}

// ---- verbs, configurations, runs ----------------------------------------------------------------

static void offer_verbs(const Words *w) {
    for (int i = 0; sr_verb_at(i); i++)
        offer(w, sr_verb_at(i)->name, "");
}

// A part of a configuration, as optimizer/muon, is offered as the word that adds it to one.
static SrStatus offer_configurations(const Words *w) {
    static const char parts[] = "optimizer/";
    SrArena arena = SR_ARENA_INIT;
    SrStrings names;
    SrStatus status = sr_config_names(&arena, &names);
    for (int i = 0; status == SR_OK && i < names.n; i++) {
        char part[PATH_BYTES];
        if (!sr_text_starts(names.v[i], parts))
            offer(w, names.v[i], "");
        else if (w->begun[0] == '+') {
            snprintf(part, sizeof part, "+config/optimizer=%s", names.v[i] + strlen(parts));
            offer(w, part, "");
        }
    }
    sr_arena_deinit(&arena);
    return status;
}

// Offers runs below runs/ only: the current folder may be large.
static void offer_runs(const Words *w) {
    SrRegistry runs;
    if (!sr_file_is_dir("runs") || sr_registry_scan("runs", &runs) != SR_OK)
        return;
    for (int64_t i = 0; i < runs.names.n; i++) {
        char path[PATH_BYTES];
        if (sr_file_join(path, sizeof path, "runs", sr__string_list_get(&runs.names, i)) == SR_OK)
            offer(w, path, "");
    }
    sr_registry_deinit(&runs);
}

// True: the verb accepts torchvision's name of a trunk.
static bool takes_models(const char *verb) {
    static const char *const verbs[] = {"describe", "export", "extract", "graph"};
    for (int i = 0; i < SR_COUNT(verbs); i++)
        if (strcmp(verb, verbs[i]) == 0)
            return true;
    return false;
}

static void offer_models(const Words *w) {
    const SrPreset *preset;
    for (int i = 0; (preset = sr_preset_at(i)); i++)
        offer(w, preset->name, "");
}

// Offers what `sslrun list` can list: the first words of its lines.
static void offer_kinds(const Words *w) {
    SrText kinds = SR_TEXT_INIT;
    char *save = NULL;
    sr_manual_kinds(&sr_manual_verbs, &kinds);
    for (char *line = kinds.s ? strtok_r(kinds.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " ");
        line[strcspn(line, " ")] = '\0';
        offer(w, line, "");
    }
    sr_text_deinit(&kinds);
}

// ---- keys ---------------------------------------------------------------------------------------

// Offers keys, each followed by `behind`: "=" before a value, "" for the key alone.
static SrStatus offer_keys_below(const Words *w, const SrYaml *map, const char *prefix,
                                 const char *behind, SrArena *arena) {
    for (int i = 0; map->type == SR_YAML_MAP && i < map->n; i++) {
        const char *key =
            *prefix ? sr_arena_printf(arena, "%s.%s", prefix, map->keys[i]) : map->keys[i];
        SR_TRY_MEMORY(key, "the keys");
        if (map->items[i]->type != SR_YAML_MAP || map->items[i]->n == 0)
            offer(w, key, behind);
        SR_TRY(offer_keys_below(w, map->items[i], key, behind, arena));
    }
    return SR_OK;
}

static SrStatus offer_keys(const Words *w, const char *behind) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *defaults;
    SrStatus status = sr__schema_defaults(&arena, &defaults);
    if (status == SR_OK)
        status = offer_keys_below(w, defaults, "", behind, &arena);
    sr_arena_deinit(&arena);
    return status;
}

// ---- layers -------------------------------------------------------------------------------------

// Returns the trunk: the word after the verb or after --model, or the configuration of a run.
static const char *trunk_of(const char *const *words, int n, char path[PATH_BYTES]) {
    const char *trunk = n > 1 ? words[1] : "";
    for (int i = 2; i + 1 < n; i++)
        if (strcmp(words[i], "--model") == 0)
            trunk = words[i + 1];
    if (sr_file_is_dir(trunk) &&
        sr_file_join(path, PATH_BYTES, trunk, "train_config.yaml") == SR_OK)
        return path;
    return trunk;
}

// Offers layers for the part after the last comma and before a colon.
static void offer_layers(const Words *at, const char *trunk) {
    SrTrunkGraph t;
    Words w = *at;
    const char *comma = strrchr(at->begun, ',');
    if (comma) {
        w.kept = at->begun;
        w.kept_len = (int)(comma + 1 - at->begun);
        w.begun = comma + 1;
    }
    if (sr_trunk_graph_open(trunk, NULL, 0, 1, SIDE, SIDE, &t) != SR_OK)
        return;
    for (int i = 0; i < sr_graph_count(t.graph); i++)
        offer(&w, sr_graph_at(t.graph, i)->name, "");
    for (int i = 0; i < sr_graph_alias_count(t.graph); i++) {
        SrNodeId node;
        offer(&w, sr_graph_alias_at(t.graph, i, &node), "");
    }
    sr_trunk_graph_close(&t);
}

static bool takes_layers(const char *flag) {
    static const char *const flags[] = {"--layer", "--nodes", "--train-nodes", "--eval-nodes"};
    for (int i = 0; i < SR_COUNT(flags); i++)
        if (strcmp(flag, flags[i]) == 0)
            return true;
    return false;
}

// ---- all ----------------------------------------------------------------------------------------

static void offer_flags(const Words *w, const char *verb_name) {
    const SrVerb *verb;
    if (sr_verb_find(verb_name, &verb) != SR_OK)
        return;
    for (const SrFlag *f = verb->flags; f && f->name; f++)
        offer(w, f->name, "");
    offer(w, "--help", "");
}

SrStatus sr_words(const char *const *words, int n, SrText *out) {
    char path[PATH_BYTES];
    Words w = {.begun = words[n - 1], .kept = "", .out = out};
    SrLogLevel before = sr_log_set_level(SR_LOG_ERROR);
    SrStatus status = SR_OK;
    if (n == 1 || strcmp(words[0], "help") == 0)
        offer_verbs(&w);
    if (n > 1 && takes_layers(words[n - 2]))
        offer_layers(&w, trunk_of(words, n, path));
    else if (n > 1 && strcmp(words[0], "list") == 0)
        offer_kinds(&w);
    else if (w.begun[0] == '-')
        offer_flags(&w, words[0]);
    else if (w.begun[0] >= 'A' && w.begun[0] <= 'Z')
        status = offer_keys(&w, strcmp(words[0], "describe") == 0 ? "" : "=");
    else {
        status = offer_configurations(&w);
        offer_runs(&w);
        if (takes_models(words[0]))
            offer_models(&w);
    }
    sr_log_set_level(before);
    return status;
}
