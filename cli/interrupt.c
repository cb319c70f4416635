// Handlers of the signals that ask the program to end.
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/ranks/comm.h"
#include "base/temporary.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

static volatile sig_atomic_t received, listening, quiet;
static const char *volatile last_words = "";
#define STEP_NOTE "finishing the step and saving"
static const char *volatile listening_note = STEP_NOTE;

// Writes the note; of several ranks that are stopped together, one writes it.
static void write_note(const char *note, const char *more) {
    if (sr_comm_rank() > 0)
        return;
    // The run saves its state even if stderr is closed.
    const char *const part[] = {"\n", note, more, "\n"};
    for (int i = 0; i < SR_COUNT(part); i++)
        if (write(STDERR_FILENO, part[i], strlen(part[i])) < 0)
            return;
}

// Only uses calls that are legal in a handler: write and _exit.  Repeated SIGHUP and SIGUSR1 are
// ignored: a closed terminal sends SIGHUP twice, from kernel and shell, and batch systems repeat
// warnings.
static void on_signal(int number) {
    if (received && listening && (number == SIGHUP || number == SIGUSR1))
        return;
    if (received) {
        sr_temporary_unlink_all();
        _exit(128 + number);
    }
    received = number;
    if (listening) {
        if (!quiet)
            write_note(listening_note, "; press Ctrl-C again to stop at once");
        return;
    }
    write_note(last_words, "");
    sr_temporary_unlink_all();
    _exit(128 + number);
}

// The system's action follows, since the handler is gone after its first call.
static void on_end(int number) {
    sr_temporary_unlink_all();
    raise(number);
}

// Leaves a signal alone that was ignored on purpose (nohup, a background job of a shell).
static void handle(int number, void (*handler)(int)) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART; // reads of loader threads must not fail
    if (handler == on_end)
        action.sa_flags |= (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void sr_interrupt_at_once(const char *note) {
    last_words = note;
    listening = quiet = 0;
    listening_note = STEP_NOTE;
    for (int i = 0; i < SR_COUNT(numbers); i++)
        handle(numbers[i], on_signal);
    signal(SIGPIPE, SIG_IGN);
}

void sr_interrupt_listen(const char *note) {
    sr_interrupt_at_once("");
    listening_note = note;
    listening = 1;
}

void sr_interrupt_begin(void) {
    for (int i = 0; i < SR_COUNT(numbers); i++)
        handle(numbers[i], on_end);
    handle(SIGPIPE, on_end);
}

void sr_interrupt_uninstall(void) {
    struct sigaction now;
    for (int i = 0; i < SR_COUNT(numbers); i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            handle(numbers[i], on_end);
    if (!received) { // the signal may have ended the log's reader too
        signal(SIGPIPE, SIG_DFL);
        handle(SIGPIPE, on_end);
    }
}

void sr_interrupt_remember(void) { listening = quiet = 1; }

int sr_interrupt_signal(void) { return (int)received; }

int sr_interrupt_asked(void *unused) {
    (void)unused;
    listening = 1;
    return sr_interrupt_signal();
}
