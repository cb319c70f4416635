// Tests that all formats of sslrun extract hold the same rows: read back by C, by Python's csv
// module and by NumPy, with file names that need quotes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/eval/extract/feature_files.h"

static ProgramResult result; // two large texts: too large for the stack of a test

static const char *const images[] = {"photos/a, b/1 \"one\".png", "photos/a, b/two\nlines.png",
                                     "photos/c/plain.png", "photos/c/\xc3\xbc.png"};

static void write_images(const char *dir) {
    uint8_t pixels[20 * 24 * 3];
    for (int i = 0; i < SR_COUNT(images); i++) {
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 20, 24, 3, &bytes);
        fixture_write(dir, images[i], png, bytes);
        sr_free(png);
    }
}

static void extract(const char *dir, const char *format) {
    char photos[128], out[128];
    snprintf(photos, sizeof photos, "%s/photos", dir);
    snprintf(out, sizeof out, "%s/%s", dir, format);
    program_run(&result, 0,
                (const char *const[]){"extract", "tests/cli/tiny.yaml", "--random", "--nodes",
                                      "layer1,flatten:f", "--data", photos, "--out", out,
                                      "--format", format, "--size", "16", "--batch", "2", "--shard",
                                      "2", NULL});
    if (result.code)
        fail_msg("extract --format %s: %s", format, result.err);
}

static void load(const char *dir, const char *format, SrMatrix *rows, SrFeatureNames *names) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, format);
    SrFeatureFiles from = {.path = path, .layer = "f", .split = "train"};
    CHECK_OK(sr_features_load(&from, rows, names));
}

// Every format that the evaluations read gives the same matrix, labels and names.
TEST(test_containers) {
    static const char *const formats[] = {"safetensors", "npy", "npz"};
    char dir[64];
    SrMatrix rows[3];
    temp_dir_make(dir);
    write_images(dir);
    for (int i = 0; i < 3; i++) {
        SrFeatureNames names = {0};
        extract(dir, formats[i]);
        load(dir, formats[i], &rows[i], &names);
        CHECK_INT(rows[i].n, 4);
        CHECK_INT(rows[i].d, rows[0].d);
        CHECK(memcmp(rows[i].x, rows[0].x, (size_t)(4 * rows[0].d) * sizeof(float)) == 0);
        CHECK_INT(rows[i].label[0], 0);
        CHECK_INT(rows[i].label[3], 1);
        CHECK_INT(names.classes.n, 2);
        CHECK_STR(sr__string_list_get(&names.classes, 0), "a, b");
        for (int k = 0; k < 4; k++)
            CHECK(sr_text_ends(sr__string_list_get(&names.files, k), images[k]));
        sr_feature_names_deinit(&names);
    }
    for (int i = 0; i < 3; i++)
        sr_matrix_deinit(&rows[i]);
    temp_dir_remove(dir);
}

// Takes the next field of a table (RFC 4180) and returns whether the line goes on.
static bool next_field(const char **at, char *out, size_t room) {
    bool quoted = **at == '"';
    size_t n = 0;
    for (*at += quoted; **at; ++*at) {
        if (quoted && **at == '"' && *++*at != '"')
            break;
        if (!quoted && (**at == ',' || **at == '\n'))
            break;
        CHECK(n + 1 < room);
        out[n++] = **at;
    }
    out[n] = 0;
    return *(*at)++ == ',';
}

static void check_row(const char **at, const SrMatrix *rows, int i, int maps) {
    char field[256];
    CHECK(next_field(at, field, sizeof field));
    CHECK(sr_text_ends(field, images[i]));
    CHECK(next_field(at, field, sizeof field));
    CHECK_INT(atoi(field), i / 2);
    CHECK(next_field(at, field, sizeof field));
    CHECK_STR(field, i / 2 ? "c" : "a, b");
    CHECK(next_field(at, field, sizeof field));
    CHECK_STR(field, "1");
    for (int k = 0; k < maps; k++)
        CHECK(next_field(at, field, sizeof field));
    for (int k = 0; k < rows->d; k++) {
        CHECK_INT(next_field(at, field, sizeof field), k + 1 < rows->d);
        CHECK(strtof(field, NULL) == rows->x[i * rows->d + k]); // the same float
    }
}

TEST(test_table) {
    char dir[64], path[160], field[256], *text;
    size_t bytes;
    SrMatrix rows;
    SrFeatureNames names = {0};
    temp_dir_make(dir);
    write_images(dir);
    extract(dir, "safetensors");
    load(dir, "safetensors", &rows, &names);
    extract(dir, "csv");
    for (int shard = 0; shard < 2; shard++) {
        snprintf(path, sizeof path, "%s/csv/features-%05d.csv", dir, shard);
        CHECK_OK(sr_file_read(path, 1 << 24, &text, &bytes));
        const char *at = text;
        int columns = 1;
        while (next_field(&at, field, sizeof field))
            columns++;
        CHECK_STR(field, "f_31");
        CHECK(sr_text_starts(text, "file,label,class,valid,layer1_0,layer1_1,"));
        CHECK_INT(columns, 4 + 4 * 16 * 16 + rows.d);
        check_row(&at, &rows, 2 * shard, 4 * 16 * 16);
        check_row(&at, &rows, 2 * shard + 1, 4 * 16 * 16);
        CHECK_STR(at, "");
        sr_free(text);
    }
    sr_feature_names_deinit(&names);
    sr_matrix_deinit(&rows);
    temp_dir_remove(dir);
}

// Several labels per image have a column each.
TEST(test_labels) {
    char dir[64], list[160], labels[160], out[128], *text;
    size_t bytes;
    temp_dir_make(dir);
    write_images(dir);
    static const char lines[] = "photos/c/plain.png\nphotos/c/\xc3\xbc.png\n";
    snprintf(list, sizeof list, "%s", fixture_write(dir, "list.txt", lines, strlen(lines)));
    const int8_t target[2 * 3] = {1, 0, -1, 0, 1, 1};
    snprintf(labels, sizeof labels, "%s/labels.npy", dir);
    CHECK_OK(sr_npy_save(labels, "|i1", SR_SHAPE(2, 3), target, sizeof target));
    snprintf(out, sizeof out, "%s/table", dir);
    program_run(&result, 0,
                (const char *const[]){"extract", "tests/cli/tiny.yaml", "--random", "--nodes",
                                      "flatten", "--data", list, "--labels", labels, "--out", out,
                                      "--format=csv", "--size=16", NULL});
    if (result.code)
        fail_msg("%s", result.err);
    snprintf(out, sizeof out, "%s/table/features-00000.csv", dir);
    CHECK_OK(sr_file_read(out, 1 << 20, &text, &bytes));
    CHECK(sr_text_starts(text, "file,label_0,label_1,label_2,valid,flatten_0,"));
    CHECK(strstr(text, "photos/c/plain.png,1,0,-1,1,"));
    CHECK(strstr(text, "photos/c/\xc3\xbc.png,0,1,1,1,"));
    sr_free(text);
    temp_dir_remove(dir);
}

// NumPy and Python's csv module read the same names and numbers.
TEST(test_python) {
    static const char script[] =
        "import csv, glob, os, sys\n"
        "import numpy as np\n"
        "npz = [np.load(f) for f in sorted(glob.glob('npz/features-*.npz'))]\n"
        "csv.field_size_limit(1 << 24)\n"
        "rows = []\n"
        "for f in sorted(glob.glob('csv/features-*.csv')):\n"
        "    rows += list(csv.DictReader(open(f, newline='')))\n"
        "files = np.concatenate([z['files'] for z in npz])\n"
        "f = np.concatenate([z['f'] for z in npz])\n"
        "layer1 = np.concatenate([z['layer1'] for z in npz])\n"
        "assert layer1.shape == (4, 4, 16, 16) and layer1.dtype == np.float32\n"
        "assert f.shape == (4, 32) and npz[0]['valid'].dtype == bool\n"
        "assert npz[0]['classes'].astype(str).tolist() == ['a, b', 'c']\n"
        "assert [os.fsdecode(x) for x in files] == [r['file'] for r in rows]\n"
        "table = np.array([[r['f_%d' % k] for k in range(32)] for r in rows]).astype(np.float32)\n"
        "assert (table == f).all()\n"
        "assert [int(r['label']) for r in rows] == [0, 0, 1, 1]\n"
        "assert [r['class'] for r in rows] == ['a, b', 'a, b', 'c', 'c']\n"
        "assert np.float32(rows[3]['layer1_5']) == layer1[3].reshape(-1)[5]\n";
    char dir[64], line[200];
    program_need_numpy();
    temp_dir_make(dir);
    write_images(dir);
    extract(dir, "npz");
    extract(dir, "csv");
    fixture_write(dir, "read.py", script, sizeof script - 1);
    snprintf(line, sizeof line, "cd %s && PYTHONUTF8=1 /usr/bin/python3 read.py", dir);
    CHECK_INT(system(line), 0);
    temp_dir_remove(dir);
}

TEST(test_refused) {
#define REFUSED(format, words)                                                                 \
    program_run(&result, 0,                                                                    \
                (const char *const[]){"extract", "resnet18", "--random", "--nodes", "layer1",  \
                                      "--data", ".", "--out", "x", "--format", format, NULL}); \
    CHECK_INT(result.code, 2);                                                                 \
    CHECK(strstr(result.err, words))
    REFUSED("parquet", "Debian has no C library for it; give --format csv");
    REFUSED("xml", "expected safetensors, npy, npz or csv");
}

SR_TESTS(extract_formats, unit(test_containers), unit(test_table), unit(test_labels),
         unit(test_python), unit(test_refused))
