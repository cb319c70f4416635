// Tests files: bounded reads, mappings, locks, links, and writes that leave either the old file
// or the new one at any moment.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "base/temporary.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

static char dir[64];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// Returns the path of `name` in the test's folder, in one of a few static buffers.
static const char *in(const char *name) {
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    CHECK_OK(sr_file_join(path, sizeof paths[0], dir, name));
    return path;
}

static void check_content(const char *path, const char *expected) {
    char *data;
    size_t bytes;
    CHECK_OK(sr_file_read(path, 1000, &data, &bytes));
    CHECK_INT(bytes, strlen(expected));
    CHECK_STR(data, expected);
    sr_free(data);
}

static int names_in_dir(void) {
    char **names;
    int n;
    CHECK_OK(sr_file_list(dir, &names, &n));
    sr_file_list_free(names, n);
    return n;
}

TEST(test_read_is_bounded) {
    char *data;
    size_t bytes;
    CHECK_OK(sr_file_write(in("a"), "hello", 5));
    check_content(in("a"), "hello");
    CHECK_OK(sr_file_read(in("a"), 5, &data, &bytes));
    sr_free(data);
    CHECK_FAILS(sr_file_read(in("a"), 4, &data, &bytes), SR_ERR_IO,
                "has 5 bytes; expected at most 4");
    CHECK_FAILS(sr_file_read(in("none"), 9, &data, &bytes), SR_ERR_IO, "/none': No such file");
    CHECK_FAILS(sr_file_read(dir, 9, &data, &bytes), SR_ERR_IO, "not a regular file");
    CHECK_INT(mkfifo(in("pipe"), 0600), 0);
    CHECK_FAILS(sr_file_read(in("pipe"), 9, &data, &bytes), SR_ERR_IO,
                "not a regular file"); // fails at once instead of waiting for a writer
    CHECK_OK(sr_file_write(in("empty"), NULL, 0));
    check_content(in("empty"), "");
}

TEST(test_map) {
    const void *map;
    size_t bytes;
    CHECK_OK(sr_file_write(in("a"), "mapped", 6));
    CHECK_OK(sr_file_map(in("a"), &map, &bytes));
    CHECK_INT(bytes, 6);
    CHECK(memcmp(map, "mapped", 6) == 0);
    CHECK_OK(sr_file_write(in("a"), "X", 1)); // replaces the name; the mapping keeps the old file
    CHECK(memcmp(map, "mapped", 6) == 0);
    sr_file_unmap(map, bytes);
    CHECK_OK(sr_file_write(in("empty"), "", 0));
    CHECK_OK(sr_file_map(in("empty"), &map, &bytes));
    CHECK(!map && bytes == 0);
    sr_file_unmap(map, bytes);
    CHECK_FAILS(sr_file_map(in("none"), &map, &bytes), SR_ERR_IO, "No such file");
}

TEST(test_writing_shows_nothing_before_commit) {
    SrFileWriter writer;
    CHECK_OK(sr_file_write(in("a"), "old", 3));
    CHECK_OK(sr_file_begin(&writer, in("a")));
    fputs("new and longer", writer.f);
    fflush(writer.f);
    check_content(in("a"), "old");
    CHECK_OK(sr_file_commit(&writer));
    check_content(in("a"), "new and longer");
    CHECK_INT(names_in_dir(), 1);
}

TEST(test_abort_leaves_nothing) {
    SrFileWriter writer;
    CHECK_OK(sr_file_begin(&writer, in("a")));
    fputs("half", writer.f);
    CHECK_INT(names_in_dir(), 1);
    sr_file_abort(&writer);
    CHECK_INT(names_in_dir(), 0);
    CHECK_FAILS(sr_file_begin(&writer, in("no/such/folder")), SR_ERR_IO, "cannot write");
    CHECK_INT(mkdir(in("taken"), 0700), 0);
    CHECK_FAILS(sr_file_write(in("taken"), "x", 1), SR_ERR_IO, "Is a directory");
    CHECK_INT(names_in_dir(), 1);
}

// Copies the temporary name under which this process writes `name` until it commits.
static void temporary_of(const char *name, char out[128]) {
    SrFileWriter writer;
    CHECK_OK(sr_file_begin(&writer, in(name)));
    snprintf(out, 128, "%s", writer.temporary);
    sr_file_abort(&writer);
}

// A file or link under the temporary name is removed, and nothing is written through it.
TEST(test_temporary_is_new) {
    char temporary[128];
    temporary_of("a", temporary);
    CHECK_OK(sr_file_write(in("notes"), "mine", 4));
    CHECK_INT(symlink("notes", temporary), 0);
    CHECK_OK(sr_file_write(in("a"), "new", 3));
    check_content(in("a"), "new");
    check_content(in("notes"), "mine");
    CHECK(!sr_file_is_link(in("a")));
    CHECK_INT(names_in_dir(), 2);
}

// The temporary file and the temporary link of a killed process are removed by the next writer of
// the name, or when the folder is cleared. No process has the number 4194305, which is above
// Linux's limit.
TEST(test_orphans) {
    char temporary[128], orphan[160];
    for (int clear = 0; clear < 2; clear++) {
        temporary_of("a", temporary);
        const char *host = strrchr(temporary, '-');
        snprintf(orphan, sizeof orphan, "%s%s", in("a.tmp4194305"), host);
        CHECK_INT(symlink("gone", orphan), 0);
        if (clear) {
            snprintf(orphan, sizeof orphan, "%s%s", in("b.html.tmp4194305"), host);
            CHECK_OK(sr_file_write(orphan, "half", 4));
            sr_file_remove_orphans(dir);
            CHECK_INT(names_in_dir(), 1);
        } else {
            CHECK_OK(sr_file_symlink("one", in("a")));
            CHECK_INT(names_in_dir(), 1);
        }
    }
}

// A temporary file of another host is kept, since numbers of processes mean nothing across hosts.
TEST(test_other_hosts_temporary) {
    const char *const made[] = {"a.tmp4194304", "a.tmp4194304-00000000"};
    for (int i = 0; i < SR_COUNT(made); i++)
        CHECK_OK(sr_file_write(in(made[i]), "half", 4));
    CHECK_OK(sr_file_write(in("a"), "new", 3));
    for (int i = 0; i < SR_COUNT(made); i++)
        check_content(in(made[i]), "half");
}

// A writer is killed in the middle: the old content stays. The next writer removes the temporary
// file of the killed process and keeps that of a living one.
TEST(test_killed_writer) {
    CHECK_OK(sr_file_write(in("a"), "old", 3));
    pid_t child = fork();
    if (child == 0) {
        SrFileWriter writer;
        if (sr_file_begin(&writer, in("a")) == SR_OK && fputs("half", writer.f) > 0 &&
            fflush(writer.f) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    int how = 0;
    CHECK_INT(waitpid(child, &how, 0), child);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    check_content(in("a"), "old");
    CHECK_INT(names_in_dir(), 2);
    char living[64], temporary[128];
    temporary_of("a", temporary);
    snprintf(living, sizeof living, "a.tmp%ld%s", (long)getppid(), strrchr(temporary, '-'));
    CHECK_OK(sr_file_write(in("a.tmpx"), "not a temporary", 15));
    CHECK_INT(rename(in("a.tmpx"), in(living)), 0);
    CHECK_OK(sr_file_write(in("a.tmp12.txt"), "a name of its own", 17));
    CHECK_OK(sr_file_write(in("a"), "new", 3));
    check_content(in("a"), "new");
    CHECK(sr_file_exists(in(living)) && sr_file_exists(in("a.tmp12.txt")));
    CHECK_INT(names_in_dir(), 3);
}

// Making a folder below a read-only one reports the permission, and not that the new folder is
// missing. Root may write anywhere, so as root the test makes the folder under another user.
TEST(test_folder_forbidden) {
    bool root = geteuid() == 0;
    CHECK_INT(chmod(dir, 0555), 0);
    CHECK(!root || seteuid(65534) == 0);
    SrStatus status = sr_file_mkdirs(in("new/below"));
    CHECK(!root || seteuid(0) == 0);
    CHECK_INT(chmod(dir, 0700), 0);
    CHECK_INT(status, SR_ERR_IO);
    CHECK(strstr(sr_status_message(), "/new': Permission denied"));
}

TEST(test_folders) {
    CHECK_OK(sr_file_mkdirs(in("x/y//z/")));
    CHECK(sr_file_is_dir(in("x/y/z")) && sr_file_exists(in("x")));
    CHECK_OK(sr_file_mkdirs(in("x/y")));
    CHECK_OK(sr_file_mkdirs("/"));
    CHECK_OK(sr_file_mkdirs("."));
    CHECK_OK(sr_file_write(in("f"), "", 0));
    CHECK(!sr_file_is_dir(in("f")) && !sr_file_is_dir(in("none")) && !sr_file_exists(in("none")));
    CHECK_OK(sr_file_check_new(in("none"), false));
    CHECK_OK(sr_file_check_new(in("f"), true));
    CHECK_FAILS(sr_file_check_new(in("f"), false), SR_ERR_CONFIG, "f exists; --force replaces it");
    CHECK_FAILS(sr_file_check_new(in("x"), true), SR_ERR_CONFIG, "a directory");
    CHECK_FAILS(sr_file_mkdirs(in("f")), SR_ERR_IO, "file of that name");
    CHECK_FAILS(sr_file_mkdirs(in("f/g")), SR_ERR_IO, "Not a directory");
    CHECK_FAILS(sr_file_mkdirs(""), SR_ERR_CONFIG, "without a name");
    char *path = sr_alloc(5001);
    memset(path, 'a', 5000);
    path[5000] = '\0';
    CHECK_FAILS(sr_file_mkdirs(path), SR_ERR_CONFIG, "too long");
    sr_free(path);
}

TEST(test_list_is_sorted) {
    const char *const made[] = {"b", "a10", "a9", "B", ".hidden"};
    const char *const sorted[] = {".hidden", "B", "a10", "a9", "b"};
    for (int i = 0; i < SR_COUNT(made); i++)
        CHECK_OK(sr_file_write(in(made[i]), "", 0));
    char **names;
    int n;
    CHECK_OK(sr_file_list(dir, &names, &n));
    CHECK_INT(n, SR_COUNT(sorted));
    for (int i = 0; i < n; i++)
        CHECK_STR(names[i], sorted[i]);
    sr_file_list_free(names, n);
    CHECK_FAILS(sr_file_list(in("none"), &names, &n), SR_ERR_IO, "/none");
    sr_file_list_free(names, n);
}

TEST(test_links_and_removal) {
    char target[64];
    CHECK_OK(sr_file_write(in("one"), "1", 1));
    CHECK_OK(sr_file_write(in("two"), "2", 1));
    CHECK_OK(sr_file_symlink("one", in("newest")));
    CHECK_OK(sr_file_symlink("two", in("newest")));
    check_content(in("newest"), "2");
    CHECK_INT(readlink(in("newest"), target, sizeof target), 3);
    CHECK_OK(sr_file_remove(in("newest")));
    CHECK_OK(sr_file_remove(in("newest")));
    CHECK_INT(names_in_dir(), 2);
    CHECK_FAILS(sr_file_remove(dir), SR_ERR_IO, "cannot remove");
    CHECK_FAILS(sr_file_symlink("x", in("no/such/link")), SR_ERR_IO, "cannot create link");
}

TEST(test_join) {
    char out[8];
    CHECK_OK(sr_file_join(out, sizeof out, "ab", "cd"));
    CHECK_STR(out, "ab/cd");
    CHECK_OK(sr_file_join(out, sizeof out, "ab/", "cd"));
    CHECK_STR(out, "ab/cd");
    CHECK_OK(sr_file_join(out, sizeof out, "", "cd"));
    CHECK_STR(out, "cd");
    CHECK_OK(sr_file_join(out, sizeof out, "abc", "def")); // seven characters and the NUL byte
    CHECK_FAILS(sr_file_join(out, sizeof out, "abcd", "def"), SR_ERR_CONFIG, "too long");
}

// Each allocation fails once: an error, no leak, no temporary file, and the old file unchanged.
TEST(test_without_memory) {
    CHECK_OK(sr_file_write(in("a"), "old", 3));
    int64_t live = sr_mem_live();
    for (int n = 1;; n++) {
        sr_mem_fail_at(n);
        SrStatus status = sr_file_write(in("a"), "new", 3);
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
        CHECK_INT(names_in_dir(), 1);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        check_content(in("a"), "old");
    }
    check_content(in("a"), "new");
    char *data, **names;
    size_t bytes;
    int count;
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_file_read(in("a"), 100, &data, &bytes), SR_ERR_MEMORY, "out of memory");
    for (int n = 1; n <= 2; n++) {
        sr_mem_fail_at(n);
        CHECK_FAILS(sr_file_list(dir, &names, &count), SR_ERR_MEMORY, "out of memory");
    }
    CHECK_INT(sr_mem_live(), live);
}

// A text that lost a part for lack of memory replaces nothing.
TEST(test_text_that_failed) {
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_file_write_text(in("a"), &text));
    check_content(in("a"), "");
    sr_text_add(&text, "whole");
    CHECK_OK(sr_file_write_text(in("a"), &text));
    sr_mem_fail_at(1);
    for (int i = 0; i < 100; i++)
        sr_text_add(&text, " and more");
    CHECK_FAILS(sr_file_write_text(in("a"), &text), SR_ERR_MEMORY, in("a"));
    check_content(in("a"), "whole");
    CHECK_INT(names_in_dir(), 1);
    sr_text_deinit(&text);
}

// A full disk, simulated by /dev/full: commit returns an error and leaves no file.
TEST(test_full_disk) {
    SrFileWriter writer;
    CHECK_OK(sr_file_begin(&writer, in("a")));
    writer.f = freopen("/dev/full", "wb", writer.f);
    if (!writer.f) {
        sr_file_abort(&writer);
        SKIP("/dev/full cannot be opened", NULL);
    }
    fputs("does not fit", writer.f);
    CHECK_FAILS(sr_file_commit(&writer), SR_ERR_IO, "No space left on device");
    CHECK_INT(names_in_dir(), 0);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
TEST(test_lock) {
    const char *path = in("lock");
    char expected[64];
    int mine, other;
    CHECK_OK(sr_file_lock(path, &mine));
    CHECK(mine >= 0);
    snprintf(expected, sizeof expected, "number %ld", (long)getpid());
    CHECK_FAILS(sr_file_lock(path, &other), SR_ERR_IO,
                expected); // a lock belongs to the open file, not to the process
    CHECK_INT(other, -1);
    sr_file_unlock(mine);
    CHECK_OK(sr_file_lock(path, &mine));
    sr_file_unlock(mine);
    sr_file_unlock(-1);
    CHECK_FAILS(sr_file_lock("no/such/folder/lock", &mine), SR_ERR_IO, "no/such/folder");
}

// The lock's file may still hold the number of an earlier process when the next one is refused.
TEST(test_lock_names_the_holder) {
    const char *path = in("lock");
    char expected[64], text[32];
    int ready[2], other;
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t holder = fork();
    if (holder == 0) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        (void)!write(fd, "999999999\n", 10); // no process of this machine
        flock(fd, LOCK_EX);
        (void)!write(ready[1], "x", 1);
        usleep(50000);
        int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        (void)!(ftruncate(fd, 0) + pwrite(fd, text, (size_t)n, 0));
        usleep(2000000);
        _exit(0);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    snprintf(expected, sizeof expected, "number %ld;", (long)holder);
    CHECK_FAILS(sr_file_lock(path, &other), SR_ERR_IO, expected);
    kill(holder, SIGKILL);
    CHECK_INT(waitpid(holder, NULL, 0), holder);
    close(ready[0]);
    close(ready[1]);
}

// A folder that was moved, replaced or removed is noticed, and one that is back is accepted.
TEST(test_folder_that_moves) {
    char old[192], new[192], expected[448];
    snprintf(old, sizeof old, "%s", in("run"));
    snprintf(new, sizeof new, "%s", in("moved"));
    CHECK_INT(mkdir(old, 0700), 0);
    int held = sr_file_hold_folder(old);
    CHECK(held >= 0);
    CHECK_OK(sr_file_check_folder(held, old));
    CHECK_INT(rename(old, new), 0);
    snprintf(expected, sizeof expected, "'%s' was moved to '%s'", old, new);
    CHECK_FAILS(sr_file_check_folder(held, old), SR_ERR_IO, expected);
    CHECK_INT(mkdir(old, 0700), 0); // another folder of the name
    CHECK_FAILS(sr_file_check_folder(held, old), SR_ERR_IO, expected);
    CHECK_INT(rmdir(old), 0);
    CHECK_INT(symlink(new, old), 0); // the same folder by a link
    CHECK_OK(sr_file_check_folder(held, old));
    CHECK_INT(unlink(old), 0);
    CHECK_INT(rename(new, old), 0);
    CHECK_OK(sr_file_check_folder(held, old));
    CHECK_INT(rmdir(old), 0);
    CHECK_FAILS(sr_file_check_folder(held, old), SR_ERR_IO, "was removed");
    sr_file_unlock(held);
    CHECK_INT(sr_file_hold_folder("no/such/folder"), -1);
    CHECK_OK(sr_file_check_folder(-1, "no/such/folder"));
}

// Locking refuses a link, whose target belongs to somebody else, and a pipe.
TEST(test_lock_follows_no_link) {
    int lock;
    CHECK_OK(sr_file_write(in("notes"), "mine", 4));
    CHECK_INT(symlink("notes", in("lock")), 0);
    CHECK_FAILS(sr_file_lock(in("lock"), &lock), SR_ERR_IO, "is a symbolic link");
    check_content(in("notes"), "mine");
    CHECK_OK(sr_file_remove(in("lock")));
    CHECK_INT(mkfifo(in("lock"), 0600), 0);
    CHECK_FAILS(sr_file_lock(in("lock"), &lock), SR_ERR_IO, "not a regular file");
}

// A page that checks whether a run is alive holds the lock for a moment; a run that starts
// meanwhile is not refused.
TEST(test_lock_while_looked_at) {
    const char *path = in("lock");
    int lock, ready[2];
    char byte;
    CHECK_OK(sr_file_write(path, "", 0));
    CHECK_INT(pipe(ready), 0);
    pid_t looks = fork();
    if (looks == 0) {
        int fd = open(path, O_RDONLY);
        flock(fd, LOCK_SH);
        (void)!write(ready[1], "x", 1);
        usleep(50000);
        _exit(0);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_OK(sr_file_lock(path, &lock));
    CHECK(lock >= 0);
    sr_file_unlock(lock);
    CHECK_INT(waitpid(looks, NULL, 0), looks);
    close(ready[0]);
    close(ready[1]);
}

// Appending refuses a link, whose target belongs to somebody else, and a pipe, which would block.
TEST(test_append_follows_no_link) {
    FILE *f;
    CHECK_OK(sr_file_append(in("lines"), &f));
    fputs("one\n", f);
    fclose(f);
    CHECK_OK(sr_file_append(in("lines"), &f));
    fputs("two\n", f);
    fclose(f);
    check_content(in("lines"), "one\ntwo\n");
    CHECK_INT(symlink("lines", in("link")), 0);
    CHECK_FAILS(sr_file_append(in("link"), &f), SR_ERR_IO, "is a symbolic link");
    CHECK_INT(mkfifo(in("pipe"), 0600), 0);
    CHECK_FAILS(sr_file_append(in("pipe"), &f), SR_ERR_IO, "pipe");
    check_content(in("lines"), "one\ntwo\n");
}

TEST(test_open_own) {
    int fd;
    size_t bytes;
    CHECK_OK(sr_file_write(in("a"), "hello", 5));
    CHECK_OK(sr_file_open_own(in("a"), &fd, &bytes));
    CHECK_INT(bytes, 5);
    close(fd);
    CHECK_INT(symlink("a", in("link")), 0);
    CHECK_FAILS(sr_file_open_own(in("link"), &fd, &bytes), SR_ERR_IO, "link");
    CHECK_INT(fd, -1);
    CHECK_INT(mkfifo(in("pipe"), 0600), 0);
    CHECK_FAILS(sr_file_open_own(in("pipe"), &fd, &bytes), SR_ERR_IO, "not a regular file");
}

// Two mappings of a file see each other's writes, and the file keeps them; new bytes are 0.
TEST(test_map_shared) {
    void *a, *b;
    CHECK_OK(sr_file_write(in("a"), "hello", 5));
    CHECK_OK(sr_file_map_shared(in("a"), 8, &a));
    CHECK_OK(sr_file_map_shared(in("a"), 8, &b));
    CHECK(memcmp(a, "hello\0\0\0", 8) == 0);
    memcpy(a, "jelly", 5);
    CHECK(memcmp(b, "jelly", 5) == 0);
    sr_file_unmap_temporary(a, 8);
    sr_file_unmap_temporary(b, 8);
    char *data;
    size_t bytes;
    CHECK_OK(sr_file_read(in("a"), 100, &data, &bytes));
    CHECK(bytes == 8 && memcmp(data, "jelly\0\0\0", 8) == 0);
    sr_free(data);
    CHECK_INT(symlink("a", in("link")), 0);
    CHECK_FAILS(sr_file_map_shared(in("link"), 8, &a), SR_ERR_IO, "link");
    CHECK_INT(mkfifo(in("pipe"), 0600), 0);
    CHECK_FAILS(sr_file_map_shared(in("pipe"), 8, &a), SR_ERR_IO, "it is not a regular file");
    CHECK_FAILS(sr_file_map_shared(in("none"), 8, &a), SR_ERR_IO, "none");
    CHECK(a == NULL);
}

// A file never takes the place of a pipe or device, nor of a link to one.
TEST(test_device_is_kept) {
    SrFileWriter w;
    struct stat st;
    CHECK(mkfifo(in("pipe"), 0600) == 0 && symlink("pipe", in("link")) == 0);
    CHECK_FAILS(sr_file_begin(&w, in("pipe")), SR_ERR_IO, "it is a device, pipe or socket");
    CHECK_FAILS(sr_file_write(in("link"), "x", 1), SR_ERR_IO, "it is a device, pipe or socket");
    CHECK(lstat(in("pipe"), &st) == 0 && S_ISFIFO(st.st_mode));
}

// A signal handler removes what is being written, and nothing that is finished.
TEST(test_signal_removes_temporaries) {
    SrFileWriter a, b;
    CHECK_OK(sr_file_begin(&a, in("a")));
    CHECK_OK(sr_file_commit(&a));
    CHECK_OK(sr_file_begin(&a, in("other")));
    CHECK_OK(sr_file_begin(&b, in("b")));
    sr_file_abort(&a);
    CHECK(access(b.temporary, F_OK) == 0);
    sr_temporary_unlink_all();
    CHECK(access(b.temporary, F_OK) != 0 && errno == ENOENT);
    CHECK(sr_file_exists(in("a")));
    CHECK_FAILS(sr_file_commit(&b), SR_ERR_IO, "cannot write");
    for (int i = 0; i < 40; i++) { // ended names leave their places to others
        CHECK_OK(sr_file_begin(&a, in("c")));
        i % 2 ? (void)sr_file_commit(&a) : sr_file_abort(&a);
    }
    CHECK_OK(sr_file_begin(&a, in("d")));
    sr_temporary_unlink_all();
    CHECK(access(a.temporary, F_OK) != 0);
    sr_file_abort(&a);
}

SR_TESTS(file, in_folder(test_lock_while_looked_at), in_folder(test_append_follows_no_link),
         in_folder(test_open_own), in_folder(test_map_shared), in_folder(test_lock),
         in_folder(test_lock_names_the_holder), in_folder(test_folder_that_moves),
         in_folder(test_lock_follows_no_link), in_folder(test_temporary_is_new),
         in_folder(test_orphans), in_folder(test_other_hosts_temporary),
         in_folder(test_read_is_bounded), in_folder(test_map),
         in_folder(test_writing_shows_nothing_before_commit), in_folder(test_abort_leaves_nothing),
         in_folder(test_killed_writer), in_folder(test_folders), in_folder(test_folder_forbidden),
         in_folder(test_list_is_sorted), in_folder(test_links_and_removal), in_folder(test_join),
         in_folder(test_without_memory), in_folder(test_text_that_failed),
         in_folder(test_full_disk), in_folder(test_signal_removes_temporaries),
         in_folder(test_device_is_kept))
