// Tests configurations made in C: what each shipped recipe says can be said by members, params and
// keys, and gives the same resolved configuration; each mistake names its key.
#include "trainer/config/config_draft.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/shared_maps.h"

static SrArena arena;
static SrLogLevel level;

static int set_up(void **state) {
    (void)state;
    arena = (SrArena)SR_ARENA_INIT;
    level = sr_log_set_level(SR_LOG_ERROR);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sr_arena_deinit(&arena);
    sr_log_set_level(level);
    return 0;
}

// ---- round trip

typedef struct {
    SrSchemaEntry *entries; // (n)
    int n;
    const char *name; // of the recipe
    int different;    // keys that the draft cannot say
} Trip;

static const char *path_of(const SrSection *s, const char *key) {
    return sr_arena_printf(&arena, "%s%s%s", s->path, *s->path ? "." : "", key);
}

// True: the row's map has a table of its own.
static bool is_section(const Trip *t, const char *path) {
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->entries[i].section.path, path) == 0)
            return true;
    return false;
}

static bool is_optimizers(const SrOption *o) {
    for (int i = 0; sr_optimizer_at(i); i++)
        if (o->offset == offsetof(SrOptimizerConfig, unread))
            return true;
    return false;
}

// Copies the members of a section that its rows fill.
static void copy_members(const Trip *t, const SrSection *s, const SrConfig *from, SrConfig *to) {
    static const size_t bytes[] = {sizeof(bool),
                                   sizeof(int),
                                   sizeof(int64_t),
                                   sizeof(double),
                                   sizeof(char *),
                                   sizeof(int),
                                   sizeof(SrInts),
                                   sizeof(SrDoubles),
                                   sizeof(SrStrings),
                                   sizeof(SrYaml *),
                                   0};
    for (const SrOption *o = s->table; o->name; o++)
        if (!is_section(t, path_of(s, o->name)) &&
            !(strcmp(s->path, "OPTIMIZER") == 0 && is_optimizers(o)))
            memcpy((char *)to + s->offset + o->offset, (const char *)from + s->offset + o->offset,
                   bytes[o->type]);
}

// Writes the params that a plugin reads from a map.
static void copy_params(const SrOption *table, size_t bytes, const char *path, const SrYaml *map,
                        SrConfigDraft *to) {
    char *params = sr_arena_alloc(&arena, bytes + 1), *usual = sr_arena_alloc(&arena, bytes + 1);
    SrYaml *own, *changes;
    CHECK_OK(sr_options_pick(table, map, &arena, &own));
    CHECK_OK(sr_options_parse(table, own, path, &arena, params));
    CHECK_OK(sr_options_parse(table, NULL, path, &arena, usual));
    CHECK_OK(sr_options_changes(table, params, usual, &to->config.arena, &changes));
    if (changes->n > 0)
        CHECK_OK(sr_config_draft_set(to, path, changes));
}

static void copy_plugins(const Trip *t, const SrConfig *from, SrConfigDraft *to) {
    const SrTrunk *trunk = sr__chosen_trunk(from->tree, &arena);
    for (int i = 0; i < t->n; i++) {
        const SrSection *s = &t->entries[i].section;
        if (t->entries[i].owned && sr__table_counts(t->entries, i, trunk))
            copy_params(s->table, t->entries[i].params_bytes, s->path,
                        sr_yaml_find_path(from->tree, s->path), to);
    }
    for (int i = 0; sr_optimizer_at(i); i++)
        copy_params(sr_optimizer_at(i)->options, sr_optimizer_at(i)->params_bytes, "OPTIMIZER",
                    sr_yaml_find(from->tree, "OPTIMIZER"), to);
}

// Returns the row of a key; NULL: it is a map above rows.
static const SrOption *row_of(const Trip *t, const char *path) {
    const SrOption *found = NULL;
    size_t longest = 0;
    for (int i = 0; i < t->n; i++) {
        const SrSection *s = &t->entries[i].section;
        const char *inside = *s->path ? sr_text_below(path, s->path) : path;
        const SrOption *o = inside ? sr_options_find(s->table, inside) : NULL;
        if (o && strlen(s->path) >= longest) {
            found = o;
            longest = strlen(s->path);
        }
    }
    return found;
}

// A member of a list type is written as a list, and a file may give a single value.
static bool same_value(const SrOption *row, const SrYaml *a, const SrYaml *b) {
    bool list = row && (row->type == SR_OPT_INTS || row->type == SR_OPT_FLOATS ||
                        row->type == SR_OPT_STRINGS);
    if (list && a && b && a->type != SR_YAML_LIST && b->type == SR_YAML_LIST && b->n == 1)
        b = b->items[0];
    return sr_yaml_equal(a, b);
}

// Compares two resolved trees key by key.
static void check_same(Trip *t, const char *path, const SrYaml *file, const SrYaml *draft) {
    const SrOption *row = *path ? row_of(t, path) : NULL;
    if (same_value(row, file, draft))
        return;
    if (!file || !draft || file->type != SR_YAML_MAP || draft->type != SR_YAML_MAP) {
        SrText a = SR_TEXT_INIT, b = SR_TEXT_INIT;
        sr_yaml_print_flow(file, &a);
        sr_yaml_print_flow(draft, &b);
        print_error("%s: %s: file %s, draft %s\n", t->name, path, a.s, b.s);
        sr_text_deinit(&a);
        sr_text_deinit(&b);
        t->different++;
        return;
    }
    for (int i = 0; i < file->n; i++)
        check_same(t, sr_arena_printf(&arena, "%s%s%s", path, *path ? "." : "", file->keys[i]),
                   file->items[i], sr_yaml_find(draft, file->keys[i]));
}

static void round_trip(Trip *t) {
    SrConfig *file, *again;
    SrConfigDraft *from, *to;
    CHECK_OK(sr_config_load(t->name, NULL, 0, &file));
    CHECK_OK(sr_config_draft_new(t->name, &from));
    CHECK_OK(sr_config_draft_new(NULL, &to));
    for (int i = 0; i < t->n; i++)
        if (!t->entries[i].owned)
            copy_members(t, &t->entries[i].section, &from->config, &to->config);
    copy_plugins(t, &from->config, to);
    if (sr_config_draft_resolve(to, &again) != SR_OK)
        fail_msg("%s: %s", t->name, sr_status_message());
    check_same(t, "", file->tree, again->tree);
    CHECK_INT(again->batch, file->batch);
    CHECK_INT(again->replicas, file->replicas);
    sr_config_free(file);
    sr_config_free(again);
    sr_config_draft_free(from);
    sr_config_draft_free(to);
}

// A resolved configuration is complete: resolving its tree again changes nothing.
static void again_the_same(Trip *t) {
    SrConfig *file, *again;
    SrConfigDraft *from;
    CHECK_OK(sr_config_load(t->name, NULL, 0, &file));
    CHECK_OK(sr_config_draft_of(file, &from));
    if (sr_config_draft_resolve(from, &again) != SR_OK)
        fail_msg("%s: %s", t->name, sr_status_message());
    check_same(t, "", file->tree, again->tree);
    CHECK_STR(again->path, file->path);
    CHECK_INT(again->layers.n, file->layers.n);
    sr_config_free(file);
    sr_config_free(again);
    sr_config_draft_free(from);
}

TEST(test_recipes) {
    Trip t = {0};
    SrStrings names;
    CHECK_OK(sr__schema_entries(&arena, &t.entries, &t.n));
    CHECK_OK(sr_config_names(&arena, &names));
    for (int i = 0; i < names.n; i++) {
        t.name = names.v[i];
        round_trip(&t);
        again_the_same(&t);
    }
    CHECK(names.n > 80);
    CHECK_INT(t.different, 0);
}

// A draft of a file resolves to the file's configuration.
TEST(test_file) {
    SrConfigDraft *draft;
    SrConfig *file, *same;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", NULL, 0, &file));
    CHECK_OK(sr_config_draft_new("tests/cli/tiny.yaml", &draft));
    CHECK_OK(sr_config_draft_resolve(draft, &same));
    CHECK(sr_yaml_equal(file->tree, same->tree));
    CHECK_STR(same->path, file->path);
    CHECK_INT(same->layers.n, 1);
    sr_config_free(file);
    sr_config_free(same);
    sr_config_draft_free(draft);
}

// ---- members and keys

static SrConfigDraft *draft;

static void set(const char *key, SrYaml *value) {
    CHECK_OK(sr_config_draft_set(draft, key, value));
}

static SrYaml *text(const char *s) { return sr_yaml_string(&draft->config.arena, s); }
static SrYaml *whole(int64_t i) { return sr_yaml_int(&draft->config.arena, i); }

static const char *const noise[] = {"synthetic"};

// A whole configuration of noise, SimCLR and a small ResNet.
static void fill(void) {
    CHECK_OK(sr_config_draft_new(NULL, &draft));
    SrConfig *c = &draft->config;
    c->test_model = false;
    c->train.data_sources = (SrStrings){1, noise};
    c->train.batchsize_per_replica = 8;
    c->train.collate_function = "simclr_collator";
    c->model.trunk_name = "resnet18";
    c->optimizer.num_epochs = 3;
    c->winograd = SR_WINOGRAD_NONE;
    set("OPTIMIZER.param_schedulers.lr.name", text("cosine"));
    set("DATA.TRAIN.TRANSFORMS.0.name", text("ImgReplicatePil"));
    set("DATA.TRAIN.TRANSFORMS.1.name", text("RandomResizedCrop"));
    set("DATA.TRAIN.TRANSFORMS.1.size", whole(32));
    set("DATA.TRAIN.TRANSFORMS.2.name", text("ToTensor"));
    set("MODEL.HEAD.PARAMS.0.0", text("mlp"));
    set("MODEL.HEAD.PARAMS.0.1.dims.0", whole(512));
    set("MODEL.HEAD.PARAMS.0.1.dims.1", whole(8));
    set("LOSS.name", text("simclr_info_nce_loss"));
    set("LOSS.simclr_info_nce_loss.temperature", sr_yaml_float(&c->arena, 0.25));
    set("LOSS.simclr_info_nce_loss.buffer_params.embedding_dim", whole(8));
}

TEST(test_members_and_keys) {
    SrConfig *config, *later;
    fill();
    CHECK_OK(sr_config_draft_resolve(draft, &config));
    const SrYaml *tree = config->tree;
    CHECK_INT(sr_tree_int(tree, "OPTIMIZER.num_epochs", 0), 3);
    CHECK_STR(sr_tree_text(tree, "MACHINE.WINOGRAD", ""), "none");
    CHECK_STR(sr_tree_text(tree, "MODEL.TRUNK.NAME", ""), "resnet"); // a preset, expanded
    CHECK_INT(sr_tree_int(tree, "MODEL.TRUNK.RESNETS.DEPTH", 0), 18);
    CHECK_STR(sr_tree_text(tree, "DATA.TRAIN.TRANSFORMS.1.name", ""), "RandomResizedCrop");
    CHECK_INT(sr_tree_int(tree, "DATA.TRAIN.TRANSFORMS.1.size", 0), 32);
    CHECK_INT(sr_yaml_find_path(tree, "MODEL.HEAD.PARAMS.0.1.dims")->n, 2);
    CHECK_STR(config->path, SR_DRAFT_NAME);
    CHECK_STR(config->checkpoint.dir, "runs/" SR_DRAFT_NAME);
    CHECK_INT(config->batch, 8);
    // Inference ran: SimCLR's buffer has the rows of both views.
    CHECK_INT(sr_tree_int(tree, "LOSS.simclr_info_nce_loss.buffer_params.effective_batch_size", 0),
              16);
    // The draft goes on; the first configuration stays, and the member wins over its key.
    draft->config.optimizer.num_epochs = 5;
    set("OPTIMIZER.num_epochs", whole(7));
    set("SEED_VALUE", whole(4));
    CHECK_OK(sr_config_draft_resolve(draft, &later));
    CHECK_INT(later->optimizer.num_epochs, 5);
    CHECK_INT(later->seed, 4);
    CHECK_INT(config->optimizer.num_epochs, 3);
    sr_config_draft_free(draft);
    CHECK_INT(later->train.transforms->n, 3); // it borrows nothing
    sr_config_free(config);
    sr_config_free(later);
}

// The saved configuration of a run loads again as it is.
TEST(test_saved) {
    SrConfig *config, *again;
    SrText saved = SR_TEXT_INIT;
    fill();
    CHECK_OK(sr_config_draft_resolve(draft, &config));
    sr_yaml_print(config->tree, &saved);
    CHECK_OK(sr_config_parse(saved.s, "saved.yaml", NULL, 0, &again));
    CHECK(sr_yaml_equal(config->tree, again->tree));
    sr_text_deinit(&saved);
    sr_config_free(config);
    sr_config_free(again);
    sr_config_draft_free(draft);
}

// ---- mistakes

static void refused(const char *message) {
    SrConfig *config = NULL;
    CHECK_FAILS(sr_config_draft_resolve(draft, &config), SR_ERR_CONFIG, message);
    CHECK(!config);
    sr_config_draft_free(draft);
}

TEST(test_wrong_values) {
    fill();
    set("SEED_VALUE", text("ten"));
    refused("configuration: SEED_VALUE is ten, expected a whole number");
    fill();
    set("OPTIMIZER.num_epoch", whole(1));
    refused("configuration: unknown key 'OPTIMIZER.num_epoch'; did you mean 'num_epochs'?");
    fill();
    set("LOSS.simclr_info_nce_loss.temperatur", whole(1));
    refused("configuration: unknown key 'LOSS.simclr_info_nce_loss.temperatur'; did you mean "
            "'temperature'?");
    fill();
    draft->config.train.batchsize_per_replica = 0;
    refused("configuration: DATA.TRAIN.BATCHSIZE_PER_REPLICA is 0, expected a number from 1 to");
    fill();
    draft->config.winograd = (SrWinograd)9;
    refused("configuration: MACHINE.WINOGRAD is");
    fill();
    draft->config.loss_name = "simclr";
    refused("simclr_info_nce_loss");
    fill();
    set("DATA.TRAIN.TRANSFORMS.1.sizes", whole(1));
    refused("configuration: unknown key 'DATA.TRAIN.TRANSFORMS[1].RandomResizedCrop.sizes'");
}

TEST(test_wrong_keys) {
    CHECK_OK(sr_config_draft_new(NULL, &draft));
    CHECK_FAILS(sr_config_draft_set(draft, "DATA.TRAIN.TRANSFORMS.1.name", text("ToTensor")),
                SR_ERR_CONFIG,
                "configuration: 'DATA.TRAIN.TRANSFORMS.1.name': 'DATA.TRAIN.TRANSFORMS' is a list, "
                "expected an index from 0 to 0, not '1'");
    CHECK_FAILS(sr_config_draft_set(draft, "SEED_VALUE.x", whole(1)), SR_ERR_CONFIG,
                "'SEED_VALUE.x' leads through 'SEED_VALUE', which is an integer");
    CHECK_FAILS(sr_config_draft_set(draft, "OPTIMIZER..x", whole(1)), SR_ERR_CONFIG, "empty part");
    CHECK_FAILS(sr_config_draft_set(draft, "", whole(1)), SR_ERR_CONFIG, "empty part");
    CHECK_FAILS(sr_config_draft_set(draft, "CHECKPOINT.DIR", text("a\xff")), SR_ERR_CONFIG,
                "configuration: CHECKPOINT.DIR: the byte 0xff is not valid UTF-8");
    sr_config_draft_free(draft);
    CHECK_FAILS(sr_config_draft_new("configs/none.yaml", &draft), SR_ERR_CONFIG, "none.yaml");
}

static SrStatus make(void) {
    SrConfig *config = NULL;
    SrConfigDraft *d = NULL;
    SrStatus status = sr_config_draft_new("tests/cli/tiny.yaml", &d);
    if (status != SR_OK)
        return status;
    d->config.optimizer.num_epochs = 2;
    status = sr_config_draft_set(d, "SEED_VALUE", sr_yaml_int(&d->config.arena, 3));
    if (status == SR_OK)
        status = sr_config_draft_resolve(d, &config);
    sr_config_free(config);
    sr_config_draft_free(d);
    return status;
}

// An allocation that fails is an error of memory, without a leak.
TEST(test_without_memory) {
    int64_t live = sr_mem_live();
    for (int n = 1, step = 1;; n += step, step = 1 + n / 12) {
        sr_mem_fail_at(n);
        SrStatus status = make();
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
    }
}

#define unit_(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(config_draft, unit_(test_recipes), unit_(test_file), unit_(test_members_and_keys),
         unit_(test_saved), unit_(test_wrong_values), unit_(test_wrong_keys),
         unit_(test_without_memory))
