// Tests MODEL.WEIGHTS_INIT as a user sees it: the table of loaded tensors and the sum below it,
// for files with other names, with parts left out, renamed, missing or of another shape; and
// refusals.
#include <stdarg.h>
#include <stdio.h>

#include "base/text/text.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result;

// The file that all tests start from: a run of one update. Its trunk has 100 tensors and 20
// counters, its head 9 and 1.
typedef struct {
    char dir[64], file[128], other[128];
} Place;

static const char *const shorter[] = {"OPTIMIZER.num_epochs=1", "DATA.TRAIN.DATA_LIMIT=8",
                                      "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1"};

// Trains one update from `file` with overrides that end with NULL; the output is in `result`.
static void run(const Place *p, const char *file, ...) {
    enum { MAX = 12 };
    char dir[128], params[256], into[80];
    const char *args[MAX + 8] = {
        "tests/cli/tiny.yaml", shorter[0], shorter[1], shorter[2], dir, params};
    int n = file ? 6 : 5;
    va_list more;
    snprintf(into, sizeof into, "%s/%s", p->dir, file ? "to" : "from");
    snprintf(dir, sizeof dir, "CHECKPOINT.DIR=%s", into);
    snprintf(params, sizeof params, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s", file ? file : "");
    va_start(more, file);
    for (const char *arg; n < MAX && (arg = va_arg(more, const char *));)
        args[n++] = arg;
    va_end(more);
    args[n] = NULL;
    program_run(&result, 0, args);
    if (file)
        temp_dir_remove(into);
}

static void open_place(Place *p) {
    temp_dir_make(p->dir);
    snprintf(p->file, sizeof p->file, "%s/from/checkpoint.safetensors", p->dir);
    snprintf(p->other, sizeof p->other, "%s/other.safetensors", p->dir);
    run(p, NULL, NULL);
    CHECK_INT(result.code, 0);
}

static void close_place(const Place *p) { temp_dir_remove(p->dir); }

// Writes a copy with the tensors whose names start with `keep`, with the prefix `cut` replaced by
// `add`.
static void rewrite(const Place *p, const char *keep, const char *cut, const char *add) {
    SrSafetensors st;
    SrNamedTensor tensors[400];
    char names[400][160];
    int n = 0;
    CHECK_OK(sr_safetensors_open(&st, p->file));
    for (int i = 0; i < st.n; i++) {
        const char *name = st.tensors[i].name;
        if (!sr_text_starts(name, keep))
            continue;
        CHECK(sr_text_starts(name, cut) && n < SR_COUNT(tensors));
        snprintf(names[n], sizeof names[n], "%s%s", add, name + strlen(cut));
        tensors[n] = (SrNamedTensor){names[n], st.tensors[i].tensor};
        n++;
    }
    CHECK_OK(sr_safetensors_save(p->other, tensors, n, NULL, NULL, 0));
    sr_safetensors_close(&st);
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(result.err, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s", code, text, result.code,
                 result.err);
}

static int lines_with(const char *begin) {
    int n = 0;
    for (const char *line = result.err; line; line = strchr(line, '\n'), line += line != NULL)
        n += sr_text_starts(line, begin);
    return n;
}

TEST(test_table) {
    Place p;
    open_place(&p);
    run(&p, p.file, NULL);
    expect(0, "trunk 100 of 100, heads 9 of 9, 21 skipped, 0 missing, 0 of another shape: 109 of "
              "109 tensors loaded\n");
    CHECK(!strstr(result.err, "Loaded: ") && !strstr(result.err, "Ignored layer:"));
    run(&p, p.file, "-v", NULL);
    CHECK_INT(lines_with("debug: Loaded: "), 109);
    CHECK_INT(lines_with("debug: Ignored layer:\t"), 21);
    CHECK(strstr(result.err, "of shape: torch.Size([4, 3, 3, 3]) from checkpoint\n"));
    run(&p, p.file, "MODEL.WEIGHTS_INIT.SKIP_LAYERS=[]", NULL);
    expect(0, "0 skipped, 0 missing, 0 of another shape: 130 of 130 tensors loaded\n");
    run(&p, p.file, "MODEL.WEIGHTS_INIT.SKIP_LAYERS=[num_batches_tracked,layer4,heads.]", NULL);
    expect(0, "trunk 75 of 75, heads 0 of 0, 55 skipped");
    close_place(&p);
}

// A head may differ from the file's: it may have more layers, or parts of another shape if a key
// allows that.
TEST(test_heads) {
    static const char
        more[] = "MODEL.HEAD.PARAMS=[[swav_head,{dims:[32,16,8],use_bn:True,num_clusters:[6,5]}]]",
        other[] = "MODEL.HEAD.PARAMS=[[swav_head,{dims:[32,16,8],use_bn:True,num_clusters:[7]}]]",
        lax[] = "MODEL.FEATURE_EVAL_SETTINGS.ASSERT_HEAD_LAYER_SHAPE_INIT=False";
    Place p;
    open_place(&p);
    run(&p, p.file, more, "-v", NULL);
    expect(0,
           "heads 9 of 10, 21 skipped, 1 missing, 0 of another shape: 109 of 110 tensors loaded\n");
    CHECK(strstr(result.err, "Not found:\t\theads.0.prototypes1.weight, not initialized\n"));
    run(&p, p.file, other, NULL);
    expect(2, "sslrun: heads.0.prototypes0.weight have different shapes: checkpoint: [6, 8], "
              "model: [7, 8] (1 such");
    run(&p, p.file, other, lax, NULL);
    expect(0,
           "heads 8 of 9, 21 skipped, 0 missing, 1 of another shape: 108 of 109 tensors loaded\n");
    run(&p, p.file, "MODEL.FEATURE_EVAL_SETTINGS.EVAL_MODE_ON=True", NULL);
    expect(0, "trunk 100 of 100, heads 0 of 0, 30 skipped");
    run(&p, p.file, "MODEL.FEATURE_EVAL_SETTINGS={EVAL_MODE_ON:True,EVAL_TRUNK_AND_HEAD:True}",
        NULL);
    expect(0, "trunk 100 of 100, heads 9 of 9, 21 skipped");
    close_place(&p);
}

// The trunk and the heads load separately from a file with one of them.
TEST(test_parts) {
    Place p;
    open_place(&p);
    rewrite(&p, "trunk.", "", "");
    run(&p, p.other, NULL);
    expect(0, "trunk 100 of 100, heads 0 of 9, 21 skipped, 9 missing, 0 of another shape: 100 of "
              "109 tensors loaded\n");
    rewrite(&p, "heads.", "", "");
    run(&p, p.other, NULL);
    expect(2, "0 of the trunk's 100 tensors were found in it");
    rewrite(&p, "trunk._feature_blocks.layer4", "", "");
    run(&p, p.other, NULL);
    expect(2,
           "25 of the trunk's 100 tensors were found in it; see its names with `sslrun inspect ");
    CHECK(strstr(result.err, "MODEL.WEIGHTS_INIT.APPEND_PREFIX and REMOVE_PREFIX") &&
          strstr(result.err, "MIN_TRUNK_SHARE"));
    run(&p, p.other, "MODEL.WEIGHTS_INIT.MIN_TRUNK_SHARE=0.25", NULL);
    expect(0, "trunk 25 of 100, heads 0 of 9, 21 skipped, 84 missing, 0 of another shape: 25 of "
              "109 tensors loaded\n");
    run(&p, p.other, "MODEL.WEIGHTS_INIT.MIN_TRUNK_SHARE=1.5", NULL);
    expect(2, "MODEL.WEIGHTS_INIT.MIN_TRUNK_SHARE is 1.5, expected a number from 0 to 1");
    close_place(&p);
}

// Files with names of other programs, and a file with several models.
TEST(test_names) {
    static const char cut[] = "MODEL.WEIGHTS_INIT.REMOVE_PREFIX=module.net.",
                      add[] = "MODEL.WEIGHTS_INIT.APPEND_PREFIX=trunk._feature_blocks.";
    Place p;
    open_place(&p);
    rewrite(&p, "trunk.", "trunk._feature_blocks.", "module.net.");
    run(&p, p.other, cut, add, NULL);
    expect(0, "trunk 100 of 100, heads 0 of 9");
    run(&p, p.other, cut, "MODEL.WEIGHTS_INIT.APPEND_PREFIX=trunk.", NULL);
    expect(2, "0 of the trunk's 100 tensors were found in it");
    CHECK(strstr(result.err, "Extra layers not loaded from checkpoint: [trunk.conv1.weight"));
    rewrite(&p, "", "", "model.student.");
    run(&p, p.other, "MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME=[model,student]", NULL);
    expect(0, "109 of 109 tensors loaded\n");
    run(&p, p.other, "MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME=[model,teacher]", NULL);
    expect(2, "MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME: ");
    CHECK(strstr(result.err, "has no key 'teacher'; it has: student"));
    run(&p, "no/such/file.torch", NULL);
    expect(2, "no/such/file.torch");
    close_place(&p);
}

// Another trunk than the checkpoint's is named as such and nothing else is printed; for a file
// without a configuration the table lists the tensors that do not fit.
TEST(test_misshapen_trunk) {
    Place p;
    open_place(&p);
    run(&p, p.file, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.125",
        "MODEL.HEAD.PARAMS=[[swav_head,{dims:[64,16,8],use_bn:True,num_clusters:[6]}]]", NULL);
    expect(2, "the checkpoint holds the trunk resnet (WIDTH_MULTIPLIER: 0.0625), the configuration "
              "asks for resnet (WIDTH_MULTIPLIER: 0.125); set MODEL.TRUNK");
    CHECK_INT(lines_with("trunk._feature_blocks."), 0);
    CHECK_INT(lines_with("Loaded: "), 0);
    run(&p, p.file, "MODEL.TRUNK.NAME=resnet_cifar", "MODEL.TRUNK.RESNET_CIFAR.DEPTH=8", "-v",
        "MODEL.HEAD.PARAMS=[[swav_head,{dims:[64,16,8],use_bn:True,num_clusters:[6]}]]", NULL);
    expect(2, "the checkpoint holds the trunk resnet (DEPTH: 18, WIDTH_MULTIPLIER: 0.0625), the "
              "configuration asks for resnet_cifar (DEPTH: 8");
    CHECK(!strstr(result.err, "PREFIX") && lines_with("debug: trunk.") > 0);
    rewrite(&p, "", "", "");
    run(&p, p.other, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.125",
        "MODEL.HEAD.PARAMS=[[swav_head,{dims:[64,16,8],use_bn:True,num_clusters:[6]}]]", NULL);
    expect(2, "sslrun: trunk._feature_blocks.conv1.weight have different shapes: checkpoint: [4, "
              "3, 3, 3], model: [8");
    CHECK(strstr(result.err, "model: [8, 3, 3, 3] (101 such tensors);"));
    CHECK_INT(lines_with("trunk._feature_blocks."), 100);
    CHECK(strstr(
        result.err,
        "trunk 0 of 100, heads 8 of 9, 21 skipped, 0 missing, 101 of another shape: 8 of 109"));
    close_place(&p);
}

// A run's folder stands for its newest checkpoint, and the log names that file.
TEST(test_run_folder) {
    Place p;
    char folder[80], file[160], out[96];
    open_place(&p);
    snprintf(folder, sizeof folder, "%s/from", p.dir);
    snprintf(file, sizeof file, "%s/model_final_checkpoint_phase0.safetensors: trunk 100 of 100",
             folder);
    run(&p, folder, NULL);
    expect(0, file);
    CHECK(!strstr(result.err, "checkpoint.safetensors"));
    run(&p, p.dir, NULL);
    expect(2, " holds no checkpoint; expected the folder of a run (its CHECKPOINT.DIR) or a file "
              "of weights");
    *strchr(file, ':') = '\0';
    program_run(&result, 1,
                (const char *const[]){"knn", "tests/cli/tiny.yaml", "--weights", folder, NULL});
    expect(0, file);
    snprintf(out, sizeof out, "%s/flat.onnx", p.dir);
    program_run(&result, 1,
                (const char *const[]){"export", "tests/cli/tiny.yaml", "--weights", folder,
                                      "--nodes", "flatten", "--out", out, NULL});
    CHECK_INT(result.code, 0);
    snprintf(out, sizeof out, "%s/features", p.dir);
    program_run(&result, 1,
                (const char *const[]){"extract", "tests/cli/tiny.yaml", "--weights", folder,
                                      "--nodes", "flatten", "--data", "tests/data/files", "--out",
                                      out, NULL});
    CHECK_INT(result.code, 0);
    close_place(&p);
}

SR_TESTS(weights_init, unit(test_table), unit(test_heads), unit(test_parts), unit(test_names),
         unit(test_misshapen_trunk), unit(test_run_folder))
