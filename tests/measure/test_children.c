// Tests work in child processes: every piece once, results in shared memory, and what is said where
// a child is out of memory, is ended by a signal, or cannot be started.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "measure/probes/children.h"
#include "tests/check.h"

enum { PIECES = 20 };

typedef struct {
    int done[PIECES];  // how often each piece was done
    pid_t pid[PIECES]; // the process that did it
    int wrong;         // piece that goes wrong
} Notes;

static Notes *notes_new(void) {
    Notes *notes = sr_map_shared(sizeof *notes);
    CHECK(notes);
    notes->wrong = -1;
    return notes;
}

static bool note_piece(void *arg, int64_t i) {
    Notes *notes = arg;
    notes->done[i]++;
    notes->pid[i] = getpid();
    return i != notes->wrong;
}

static void check_no_child_is_left(void) {
    CHECK(waitpid(-1, NULL, 0) == -1);
    CHECK_INT(errno, ECHILD);
}

TEST(test_every_piece_once) {
    for (int children = 1; children <= 2 * PIECES; children += 13) {
        Notes *notes = notes_new();
        int64_t live = sr_mem_live();
        CHECK_OK(sr_in_children(PIECES, children, note_piece, notes, "notes"));
        for (int i = 0; i < PIECES; i++) {
            CHECK_INT(notes->done[i], 1);
            CHECK(notes->pid[i] != getpid());
            if (children == 1)
                CHECK_INT(notes->pid[i], notes->pid[0]);
        }
        CHECK_INT(sr_mem_live(), live);
        check_no_child_is_left();
        sr_unmap(notes, sizeof *notes);
    }
}

TEST(test_nothing_to_do) {
    CHECK_OK(sr_in_children(0, 2, note_piece, NULL, "notes"));
    check_no_child_is_left();
}

TEST(test_memory_is_out_in_a_child) {
    Notes *notes = notes_new();
    notes->wrong = 3;
    CHECK_FAILS(sr_in_children(PIECES, 1, note_piece, notes, "notes"), SR_ERR_MEMORY,
                "out of memory for notes");
    CHECK_INT(notes->done[3], 1);
    CHECK_INT(notes->done[4], 0);
    check_no_child_is_left();
    sr_unmap(notes, sizeof *notes);
}

static bool end_by_signal(void *arg, int64_t i) {
    (void)i;
    raise(*(const int *)arg);
    return true;
}

TEST(test_signal_ends_a_child) {
    static const struct {
        int number;
        const char *text;
    } cases[] = {{SIGABRT, "signal 6 (Aborted)"},
                 {SIGSEGV, "signal 11 (Segmentation fault)"},
                 {SIGKILL, "signal 9 (Killed)"}};
    for (int i = 0; i < 3; i++) {
        int number = cases[i].number;
        CHECK_FAILS(sr_in_children(PIECES, 2, end_by_signal, &number, "notes"), SR_ERR_MEMORY,
                    cases[i].text);
        CHECK(strstr(sr_status_message(), "a process for notes"));
        check_no_child_is_left();
    }
}

// The C++ library writes a line before it ends a process.  Only the program's own line may appear.
static bool complain(void *arg, int64_t i) {
    (void)arg;
    (void)i;
    return write(STDERR_FILENO, "terminate\n", 10) < 0;
}

TEST(test_children_write_nothing) {
    int pair[2], before = dup(STDERR_FILENO);
    char byte;
    CHECK(before >= 0 && pipe(pair) == 0);
    CHECK(dup2(pair[1], STDERR_FILENO) >= 0);
    SrStatus status = sr_in_children(3, 2, complain, NULL, "notes");
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    close(pair[1]);
    CHECK_OK(status);
    CHECK_INT(read(pair[0], &byte, 1), 0);
    close(pair[0]);
}

// Waits for ever, and tells by a byte that it began.
static bool wait_for_ever(void *arg, int64_t i) {
    (void)i;
    if (write(*(const int *)arg, "x", 1) == 1)
        for (;;)
            pause();
    return false;
}

// The children hold one end of a pipe.  The other end is closed when the last of them is gone.
TEST(test_children_end_with_the_program) {
    int pair[2];
    char byte;
    CHECK(pipe(pair) == 0);
    pid_t program = fork();
    if (program == 0) {
        sr_in_children(2, 2, wait_for_ever, &pair[1], "notes");
        _exit(0);
    }
    CHECK(program > 0);
    close(pair[1]);
    for (int i = 0; i < 2; i++)
        CHECK_INT(read(pair[0], &byte, 1), 1);
    kill(program, SIGKILL);
    CHECK(waitpid(program, NULL, 0) == program);
    CHECK_INT(read(pair[0], &byte, 1), 0);
    close(pair[0]);
}

TEST(test_no_memory_to_share) {
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_in_children(3, 2, note_piece, NULL, "notes"), SR_ERR_MEMORY,
                "out of memory for notes");
}

SR_TESTS(children, unit(test_every_piece_once), unit(test_nothing_to_do),
         unit(test_memory_is_out_in_a_child), unit(test_signal_ends_a_child),
         unit(test_children_write_nothing), unit(test_children_end_with_the_program),
         unit(test_no_memory_to_share))
