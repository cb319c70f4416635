// Tests strangers' files with the program: entries of folders that are no files, names that hold
// line breaks, escapes of terminals and bytes that are not UTF-8, paths as long as the system
// takes, and texts that unfold.  Nothing is followed, executed or allocated without a bound, and
// no name reaches a terminal, a page or JSON as it is.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { PATH = 160, LONG_PATH = 512 };
#define MIB (1L << 20)

static ProgramResult result; // too large for the stack of a test
static char dir[64], odd[PATH];

// Names that a stranger's archive may hold.  The first half belongs to damaged pictures, which
// messages name.
static const char *const names[] = {
    "new\nline.png",
    "esc\033[31m\033]0;title\a.png",
    "csi\302\233"
    "31m.png", // U+009B, which some terminals take for ESC [
    "raw\233"
    "31m.png",
    "latin\351.png",
    "<b onload='x'>&\".png",
    "new\r\nline, two.png",
    "esc\033[2J\033P.png",
    "osc\302\235"
    "0;x\302\234.png",
    "-rf --help.png",
    "$(touch canary)`touch canary`;touch canary.png",
    "bell\a\b\177\v.png",
};

static void link_to(const char *target, const char *name) {
    char path[LONG_PATH];
    snprintf(path, sizeof path, "%s/a/%s", odd, name);
    CHECK_INT(symlink(target, path), 0);
}

static void add_socket(const char *name) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(snprintf(at.sun_path, sizeof at.sun_path, "%s/a/%s", odd, name) <
          (int)sizeof at.sun_path);
    CHECK_INT(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd);
}

static void add_picture(const char *folder, const char *name, int seed, bool damaged) {
    char path[LONG_PATH];
    uint8_t pixels[24 * 24 * 3];
    size_t n;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    void *png = fixture_png(pixels, 24, 24, 3, &n);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fixture_write(odd, path, png, damaged ? n / 2 : n);
    sr_free(png);
}

static int make_odd(void **state) {
    char path[LONG_PATH], name[64];
    (void)state;
    temp_dir_make(dir);
    snprintf(odd, sizeof odd, "%s/odd", dir);
    CHECK_OK(sr_file_mkdirs(odd));
    for (int i = 0; i < 160; i++) {
        snprintf(name, sizeof name, "%d.png", i);
        add_picture(i % 2 ? "a" : "b", name, i, false);
    }
    for (int i = 0; i < SR_COUNT(names); i++)
        add_picture("a", names[i], 100 + i, i < SR_COUNT(names) / 2);
    add_picture("a/folder.png", "inside.png", 200, false);
    snprintf(path, sizeof path, "%s/a/pipe.png", odd);
    CHECK_INT(mkfifo(path, 0600), 0);
    add_socket("socket.png");
    link_to("/dev/zero", "zero.png");
    link_to("/dev/full", "full.png");
    link_to("loop.png", "loop.png");
    link_to("gone.png", "nowhere.png");
    link_to("..", "up");
    return 0;
}

static int remove_odd(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// ---- what reaches a reader ----------------------------------------------------------------------

// Fails on control characters other than line breaks, tabs, and what the program itself sends to a
// terminal: colours, and the erasing of a line.
static void check_tame(const char *what, const char *text, bool terminal) {
    static const char *const ours[] = {"\033[K", "\033[31m", "\033[33m", "\033[0m", "\r"};
    bool control;
    for (const char *p = text; *p;) {
        int skip = 0;
        for (int i = 0; terminal && i < SR_COUNT(ours); i++)
            if (sr_text_starts(p, ours[i]))
                skip = (int)strlen(ours[i]);
        int n = sr_text_next(p, &control);
        if (!skip && control && *p != '\n' && *p != '\t')
            fail_msg("%s: a control character in \"%.60s\"", what, p > text + 20 ? p - 20 : text);
        p += skip ? skip : n;
    }
}

static void check_json(const char *text) {
    int lines = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        SrArena arena = SR_ARENA_INIT;
        SrYaml *tree;
        CHECK_OK(sr_json_parse(&arena, line, (size_t)(end - line), "line", &tree));
        sr_arena_deinit(&arena);
    }
    CHECK(lines >= SR_COUNT(names) / 2);
}

static void check_page(const char *path) {
    char *page;
    size_t n;
    CHECK_OK(sr_file_read(path, 64 << 20, &page, &n));
    check_tame(path, page, true);
    CHECK(!strstr(page, "<b onload") && !strchr(page, '\033'));
    sr_free(page);
}

static void check_no_canary(void) {
    CHECK(!sr_file_exists("canary") && access("canary", F_OK) != 0);
}

// Runs a verb into a pipe and on a terminal.  Neither may get a control character.
static void tame(const char *const *args) {
    program_run(&result, 1, args);
    if (result.code != 0)
        fail_msg("%s: exit code %d: %s", args[0], result.code, result.err);
    check_tame(args[0], result.err, false);
    check_tame(args[0], result.out, false);
    long most = (PROGRAM_SANITIZED ? 2048 : 400) * MIB;
    if (result.peak_bytes > most)
        fail_msg("%s: %ld bytes of memory", args[0], result.peak_bytes);
    program_run_terminal(&result, 100, args);
    if (result.code != 0)
        fail_msg("%s on a terminal: exit code %d: %s", args[0], result.code, result.out);
    check_tame(args[0], result.out, true);
    check_no_canary();
}
#define TAME(...) tame((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

TEST(test_tidy) {
    char page[PATH], keep[PATH], script[PATH], command[3 * PATH];
    TAME("tidy", odd);
    RUN("tidy", odd, "--json");
    CHECK_INT(result.code, 0);
    check_json(result.out);
    check_tame("tidy --json", result.out, false);
    CHECK(strstr(result.out, "new\\u000aline.png") && strstr(result.out, "nowhere.png") &&
          strstr(result.out, "loop.png"));
    CHECK(!strstr(result.out, "zero.png") && !strstr(result.out, "pipe.png") &&
          !strstr(result.out, "socket.png"));
    RUN("tidy", odd, "--csv"); // for programs: the names' own bytes
    CHECK(result.code == 0 && strstr(result.out, "esc\033[31m"));
    program_run_terminal(&result, 100, (const char *const[]){"tidy", odd, "--csv", NULL});
    CHECK_INT(result.code, 0);
    check_tame("tidy --csv", result.out, true);
    snprintf(page, sizeof page, "%s/tidy.html", dir);
    RUN("tidy", odd, "--page", page);
    CHECK_INT(result.code, 0);
    check_page(page);
    // The script moves files aside and does nothing else, whatever they are called.
    snprintf(keep, sizeof keep, "%s/keep.txt", dir);
    snprintf(script, sizeof script, "%s/aside.sh", dir);
    RUN("tidy", odd, "--keep", keep, "--script", script);
    CHECK(result.code == 0 && strstr(result.err, "names hold line breaks"));
    snprintf(
        command, sizeof command,
        "cd '%s' && sh aside.sh && test ! -e canary && test $(ls tidy-aside/unreadable | tr -d "
        "'\\n' | grep -o 'png' | wc -l) -ge %d",
        dir, SR_COUNT(names) / 2);
    CHECK_INT(system(command), 0);
}

TEST(test_init) {
    char out[PATH];
    snprintf(out, sizeof out, "%s/odd.yaml", dir);
    TAME("init", odd, "--out", out, "--force");
    TAME("check", out);
}

// A run trains on what can be read and names what cannot.
TEST(test_train) {
    char data[2 * PATH], run[2 * PATH], model[PATH], page[PATH], index[PATH], query[LONG_PATH];
    snprintf(data, sizeof data, "DATA.TRAIN.DATA_PATHS=[%s]", odd);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    snprintf(model, sizeof model, "%s/run", dir);
    RUN("tests/cli/folder.yaml", data, run, "TEST_MODEL=False", "OPTIMIZER.num_epochs=1");
    if (result.code != 0)
        fail_msg("exit code %d: %s", result.code, result.err);
    check_tame("train", result.err, false);
    check_tame("train", result.out, false);
    TAME("report", model);
    snprintf(page, sizeof page, "%s/run/report.html", dir);
    check_page(page);
    snprintf(page, sizeof page, "%s/copies.html", dir);
    snprintf(index, sizeof index, "%s/odd.index", dir);
    snprintf(query, sizeof query, "%s/a/%s", odd, names[SR_COUNT(names) - 1]);
    TAME("duplicates", odd, "--model", model, "--threshold", "0.001");
    RUN("duplicates", odd, "--model", model, "--threshold", "0.001", "--page", page);
    CHECK_INT(result.code, 0);
    check_page(page);
    TAME("similar", query, "--in", odd, "--model", model);
    RUN("index", odd, "--model", model, "--index", index);
    CHECK_INT(result.code, 0);
    check_tame("index", result.err, false);
    TAME("search", query, "--index", index);
}

// ---- what is no file ----------------------------------------------------------------------------

// A device, a pipe and a socket in place of a file end each verb in one line and at once.
TEST(test_no_files) {
    static const char *const verbs[][4] = {
        {"inspect", "FILE"},     {"convert", "FILE", "OUT"}, {"diff", "FILE", "FILE"},
        {"knn", "GOOD", "FILE"}, {"check", "FILE"},          {"init", "FILE"},
        {"report", "FILE"},      {"doctor", "FILE"},         {"linear", "FILE", "--data", "."}};
    char pipe[LONG_PATH], socket[LONG_PATH], out[LONG_PATH];
    snprintf(pipe, sizeof pipe, "%s/a/pipe.png", odd);
    snprintf(socket, sizeof socket, "%s/a/socket.png", odd);
    snprintf(out, sizeof out, "%s/out.npz", dir);
    const char *const files[] = {"/dev/zero", pipe, socket};
    for (int f = 0; f < SR_COUNT(files); f++)
        for (int v = 0; v < SR_COUNT(verbs); v++) {
            const char *args[5] = {NULL};
            for (int i = 0; i < 4 && verbs[v][i]; i++)
                args[i] = strcmp(verbs[v][i], "FILE") == 0   ? files[f]
                          : strcmp(verbs[v][i], "OUT") == 0  ? out
                          : strcmp(verbs[v][i], "GOOD") == 0 ? "tests/formats/files/matrix.npy"
                                                             : verbs[v][i];
            program_run(&result, 1, args);
            const char *end = strchr(result.err, '\n');
            if (result.code < 1 || result.code > 2 || *result.out || !end || end[1] ||
                !strstr(result.err, v == 3 ? "sslrun: " : files[f]))
                fail_msg("%s %s: exit code %d: %s%s", args[0], files[f], result.code, result.out,
                         result.err);
            CHECK(!sr_file_exists(out) && (PROGRAM_SANITIZED || result.peak_bytes < 64 * MIB));
        }
}

// A run folder whose files are pipes is refused, and the live page leaves it out.
TEST(test_pipes_of_a_run) {
    static const char *const files[] = {"metrics.json", "stdout.json", "train_config.yaml",
                                        "run.json", ".lock"};
    char path[LONG_PATH], run[PATH];
    Web w;
    web_need();
    web_begin(&w);
    snprintf(run, sizeof run, "%s/pipes", w.runs);
    CHECK_OK(sr_file_mkdirs(run));
    web_write_run(w.runs, "good", 3, 1.5);
    for (int i = 0; i < SR_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", run, files[i]);
        CHECK_INT(mkfifo(path, 0600), 0);
    }
    RUN("report", run);
    CHECK(result.code == 1 || result.code == 2);
    RUN("doctor", run);
    CHECK(result.code == 1 || result.code == 2);
    CHECK_INT(web_get(&w, "/"), 200);
    web_has(">good</a>");
    CHECK(!strstr(web_answer, "pipes"));
    web_end(&w);
}

// A folder and a file whose names join to the end of a script stay text in a page.
TEST(test_names_that_join) {
    char page[LONG_PATH], *text;
    size_t n;
    add_picture("c<", "script><svg onload=x>.png", 300, true);
    snprintf(page, sizeof page, "%s/joined.html", dir);
    RUN("tidy", odd, "--page", page);
    CHECK_INT(result.code, 0);
    CHECK_OK(sr_file_read(page, 64 << 20, &text, &n));
    CHECK(strstr(text, "svg onload") && !strstr(text, "<svg onload"));
    sr_free(text);
}

// ---- long paths ---------------------------------------------------------------------------------

// Makes folders below `dir` until a file "p.png" in the last has a path of that many bytes.
static void make_long(size_t bytes) {
    char name[256];
    size_t length = strlen(odd);
    int at = open(odd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(at >= 0);
    memset(name, 'x', 255);
    while (length < bytes - 6) {
        size_t n = SR_MIN(bytes - 6 - length - 1, 255);
        if (bytes - 6 - length - 1 > 255 && bytes - 6 - length - 1 - n < 2)
            n -= 2; // the last one has a name, too
        name[n] = '\0';
        CHECK_INT(mkdirat(at, name, 0700), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(next >= 0);
        close(at);
        at = next;
        name[n] = 'x';
        length += n + 1;
    }
    CHECK_INT(length + 6, bytes);
    uint8_t pixels[20 * 20 * 3];
    size_t n;
    fixture_noise(pixels, sizeof pixels, 1);
    void *png = fixture_png(pixels, 20, 20, 3, &n);
    int fd = openat(at, "p.png", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, png, n) == (ssize_t)n);
    close(fd);
    close(at);
    sr_free(png);
}

static void remove_long(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir); // nftw ends at PATH_MAX
    CHECK_INT(system(command), 0);
}

// 4,095 bytes are the longest path that the system opens.  A longer one is named and no crash.
TEST(test_long_paths) {
    static const size_t lengths[] = {4095, 4096, 4300};
    char config[PATH];
    for (int i = 0; i < SR_COUNT(lengths); i++) {
        temp_dir_make(dir);
        snprintf(odd, sizeof odd, "%s/odd", dir);
        CHECK_OK(sr_file_mkdirs(odd));
        add_picture(".", "1.png", 1, false);
        add_picture(".", "2.png", 2, false);
        make_long(lengths[i]);
        RUN("tidy", odd);
        bool read = result.code == 0 && strstr(result.out, "3 files, 0 findings");
        bool named = result.code == 0 ? strstr(result.out, "  unreadable             1  ") != NULL
                                      : result.code == 2 && strstr(result.err, "path too long");
        if (i == 0 ? !read : !named)
            fail_msg("%zu bytes: exit code %d: %.300s%.300s", lengths[i], result.code, result.out,
                     result.err);
        snprintf(config, sizeof config, "%s/x.yaml", dir);
        RUN("init", odd, "--out", config);
        CHECK(i == 0 ? result.code == 0 || result.code == 2 : result.code == 2);
        remove_long();
    }
}

// ---- texts that unfold --------------------------------------------------------------------------

static void write_laughs(const char *path) {
    SrText t = SR_TEXT_INIT;
    sr_text_add(&t, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (int i = 1; i < 12; i++) {
        sr_text_printf(&t, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            sr_text_printf(&t, "%s*a%d", j ? ", " : "", i - 1);
        sr_text_add(&t, "]\n");
    }
    CHECK_OK(sr_file_write_text(path, &t));
    sr_text_deinit(&t);
}

static void write_repeated(const char *path, const char *before, char c, size_t n,
                           const char *after) {
    SrText t = SR_TEXT_INIT;
    sr_text_add(&t, before);
    for (size_t i = 0; i < n; i++)
        sr_text_addn(&t, &c, 1);
    sr_text_add(&t, after);
    CHECK_OK(sr_file_write_text(path, &t));
    sr_text_deinit(&t);
}

static void write_bomb(const char *path, int kind) {
    switch (kind) {
    case 0: write_laughs(path); return;
    case 1: write_repeated(path, "{\"a\": ", '[', 1 << 20, "\n"); return;
    case 2: write_repeated(path, "{\"SEED_VALUE\": 1", '0', 1 << 20, "}\n"); return;
    case 3: write_repeated(path, "{\"OPTIMIZER\": 1e", '9', 1000, "}\n"); return;
    case 4: write_repeated(path, "{\"", 'k', 1 << 20, "\": 1}\n"); return;
    default: write_repeated(path, "{\"a\": [1", ',', 1 << 20, "1]}\n"); return;
    }
}
enum { BOMBS = 6 };

// A configuration that unfolds is refused in one line, within the memory of a small one.
TEST(test_configurations) {
    static const char *const verbs[] = {"check", "train", "knn"};
    char path[PATH];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/bomb.yaml", dir);
    for (int kind = 0; kind < BOMBS; kind++) {
        write_bomb(path, kind);
        for (int v = 0; v < SR_COUNT(verbs); v++) {
            RUN(verbs[v], path);
            const char *end = strchr(result.err, '\n');
            if (result.code != 2 || !end || !strstr(result.err, "bomb.yaml"))
                fail_msg("bomb %d, %s: exit code %d: %.500s", kind, verbs[v], result.code,
                         result.err);
            long most = (PROGRAM_SANITIZED ? 512 : 128) * MIB;
            if (result.peak_bytes > most)
                fail_msg("bomb %d, %s: %ld bytes", kind, verbs[v], result.peak_bytes);
        }
    }
    temp_dir_remove(dir);
}

// Files of a run folder that a stranger made: each verb that reads one ends in order, and the live
// page shows the other runs.
TEST(test_run_folders) {
    static const char *const files[] = {"metrics.json", "stdout.json", "train_config.yaml",
                                        "run.json", "evaluated.json"};
    char path[LONG_PATH], run[PATH];
    Web w;
    web_need();
    web_begin(&w);
    snprintf(run, sizeof run, "%s/bomb", w.runs);
    for (int kind = 0; kind < BOMBS; kind++) {
        web_write_run(w.runs, "good", 3, 1.5);
        web_write_run(w.runs, "bomb", 3, 1.5);
        for (int i = 0; i < SR_COUNT(files); i++) {
            snprintf(path, sizeof path, "%s/%s", run, files[i]);
            write_bomb(path, kind);
        }
        const char *const *const verbs[] = {(const char *const[]){"report", run, NULL},
                                            (const char *const[]){"doctor", run, NULL},
                                            (const char *const[]){"knn", run, NULL}};
        for (int v = 0; v < SR_COUNT(verbs); v++) {
            program_run(&result, 1, verbs[v]);
            if (result.code > 2 || (!PROGRAM_SANITIZED && result.peak_bytes > 160 * MIB))
                fail_msg("bomb %d, %s: exit code %d, %ld bytes: %.500s", kind, verbs[v][0],
                         result.code, result.peak_bytes, result.err);
        }
        CHECK_INT(web_get(&w, "/"), 200);
        web_has(">good</a>");
        int status = web_get(&w, "/run?id=bomb");
        CHECK(status >= 200 && status < 600);
        temp_dir_remove(run);
    }
    web_end(&w);
}

// A finding of a stranger's run does not reach the terminal as it is.
TEST(test_doctor) {
    static const char line[] =
        "{\"train_phase_idx\": 0, \"train_loss\": 1}\n{\"train_phase_idx\": 0, \"health\": "
        "\"x\\u001b[31m\", \"finding\": \"\\u009b2J\\u001b]0;title\\u0007\"}\n";
    temp_dir_make(dir);
    fixture_write(dir, "metrics.json", line, sizeof line - 1);
    program_run_terminal(&result, 100, (const char *const[]){"doctor", dir, NULL});
    CHECK_INT(result.code, 1);
    CHECK(strstr(result.out, "0;title"));
    check_tame("doctor", result.out, true);
    temp_dir_remove(dir);
}

// Neither do names of tensors, nor what a file says about itself.
TEST(test_names_of_tensors) {
    static float x[2] = {1, 2}, y[2] = {1, 3};
    const char *const keys[] = {"note\033[5m"}, *const values[] = {"\302\233"
                                                                   "31m\033]0;title\a"};
    char a[PATH], b[PATH];
    temp_dir_make(dir);
    snprintf(a, sizeof a, "%s/a.safetensors", dir);
    snprintf(b, sizeof b, "%s/b.safetensors", dir);
    SrNamedTensor tensor = {"w\033[2J\n.\302\233"
                            "1m",
                            {SR_SHAPE(2), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(a, &tensor, 1, keys, values, 1));
    tensor.tensor.data = y;
    CHECK_OK(sr_safetensors_save(b, &tensor, 1, keys, values, 1));
    const char *const *const verbs[] = {(const char *const[]){"inspect", a, NULL},
                                        (const char *const[]){"inspect", a, "--tree", NULL},
                                        (const char *const[]){"inspect", a, "--json", NULL},
                                        (const char *const[]){"diff", a, b, NULL}};
    for (int v = 0; v < SR_COUNT(verbs); v++) {
        program_run_terminal(&result, 100, verbs[v]);
        if (result.code > 1 || !strchr(result.out, 'w'))
            fail_msg("%s: exit code %d: %s", verbs[v][0], result.code, result.out);
        check_tame(verbs[v][0], result.out, true);
    }
    temp_dir_remove(dir);
}

#define in_odd(f) cmocka_unit_test_setup_teardown(f, make_odd, remove_odd)
SR_TESTS(strangers, in_odd(test_tidy), in_odd(test_init), in_odd(test_train), in_odd(test_no_files),
         unit(test_pipes_of_a_run), in_odd(test_names_that_join), unit(test_long_paths),
         unit(test_configurations), unit(test_run_folders), unit(test_doctor),
         unit(test_names_of_tensors))
