// Tests tests/deps.sh on machines of different kinds, each a folder with stand-ins for the
// commands that the script calls.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static char dir[64], out[4096], done[4096];

static void command(const char *name, const char *script) {
    CHECK(chmod(fixture_write(dir, name, script, strlen(script)), 0755) == 0);
}

// Makes a system without packages: only the commands that the script itself needs.
static int set_up(void **state) {
    (void)state;
    static const char *const tools[] = {"sh", "grep", "sed", "ls", "env"};
    char to[128], from[64];
    temp_dir_make(dir);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        snprintf(to, sizeof to, "%s/%s", dir, tools[i]);
        snprintf(from, sizeof from, "/bin/%s", tools[i]);
        CHECK(symlink(from, to) == 0);
    }
    return 0;
}

static int tear_down(void **state) {
    temp_dir_remove(dir);
    return process_state_restore(state);
}

static void add_apt(const char *user) {
    char id[64];
    snprintf(id, sizeof id, "#!/bin/sh\necho %s\n", user);
    command("id", id);
    command("dpkg-query", "#!/bin/sh\nexit 1\n");
    command("apt-get", "#!/bin/sh\necho \"$*\" >>\"${0%/*}/done\"\n"
                       "case \"$*\" in *no-such-recommendation*) exit 100 ;; esac\n");
}

// Runs the script and returns its exit code. `out` gets both streams, `done` the calls of
// apt-get.
static int deps(const char *args) {
    char line[512];
    snprintf(line, sizeof line, "PATH=%s APT_LISTS=%s/lists tests/deps.sh %s >%s/out 2>&1", dir,
             dir, args, dir);
    int code = system(line);
    program_read(dir, "out", out, sizeof out);
    program_read(dir, "done", done, sizeof done);
    return WEXITSTATUS(code);
}

static int calls(const char *word) {
    int n = 0;
    for (const char *at = done; (at = strstr(at, word)); at++)
        n++;
    return n;
}

TEST(test_one_line) {
    add_apt("0");
    CHECK_INT(deps("libyaml-dev sed -- libwebp-dev"), 0);
    CHECK_STR(out, "installing: apt-get install -y --no-install-recommends libyaml-dev "
                   "libwebp-dev\n");
    CHECK(strstr(done, "update\n") && strstr(done, "update\n") < strstr(done, "install"));
    CHECK_INT(calls("install -y"), 1);
}

TEST(test_lists_are_there) {
    add_apt("0");
    fixture_write(dir, "lists/mirror_main_Packages", "", 0);
    CHECK_INT(deps("libyaml-dev"), 0);
    CHECK_INT(calls("update"), 0);
}

TEST(test_recommendation_that_is_not_packaged) {
    add_apt("0");
    CHECK_INT(deps("libyaml-dev -- libwebp-dev no-such-recommendation"), 0);
    CHECK(strstr(out, "going on without no-such-recommendation"));
    CHECK(!strstr(out, "without WebP"));
}

TEST(test_nothing_to_do) {
    add_apt("0");
    CHECK_INT(deps("sed -- grep"), 0);
    CHECK_STR(out, "");
    CHECK_STR(done, "");
}

TEST(test_not_root) {
    add_apt("1000");
    CHECK_INT(deps("libyaml-dev -- libwebp-dev"), 1);
    CHECK(strstr(out, "missing: libyaml (libyaml-dev)"));
    CHECK(strstr(out, "as root: apt-get install -y libyaml-dev libwebp-dev"));
    CHECK_INT(deps("sed -- libwebp-dev"), 0);
    CHECK(strstr(out, "going on without WebP images (libwebp-dev); as root: apt-get install -y"));
    CHECK_STR(done, "");
}

TEST(test_no_apt) {
    CHECK_INT(deps("libopenblas-dev"), 1);
    CHECK(strstr(out, "missing: OpenBLAS with cblas.h (libopenblas-dev)") && strstr(out, "no apt"));
    CHECK_INT(deps("sed -- libwebp-dev"), 0);
    CHECK(strstr(out, "going on without WebP images"));
    CHECK_INT(deps("sed grep"), 0);
    CHECK_STR(out, "");
}

TEST(test_lacks) {
    CHECK_INT(deps("--lacks"), 0);
    CHECK_STR(out, "");
    CHECK_INT(deps("--lacks libwebp-dev libmicrohttpd-dev"), 0);
    CHECK_STR(out, "this build goes without WebP images (libwebp-dev), the live page (sslrun web) "
                   "(libmicrohttpd-dev); to add them, as root: apt-get install -y libwebp-dev "
                   "libmicrohttpd-dev, then make\n");
}

#define machine(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(deps, machine(test_one_line), machine(test_lists_are_there),
         machine(test_recommendation_that_is_not_packaged), machine(test_nothing_to_do),
         machine(test_not_root), machine(test_no_apt), machine(test_lacks))
