// Signal handling.
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t received;

// Only what a handler may do: set the flag, write, _exit.
static void on_signal(int number) {
    static const char note[] = "\nfinishing the step and saving; once more to stop at once\n";
    if (received)
        _exit(128 + number);
    received = number;
    if (write(STDERR_FILENO, note, sizeof note - 1) < 0)
        return; // nobody reads; the run saves all the same
}

void sr_interrupt_install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART; // a read in a loader thread must not fail for it
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void sr_interrupt_uninstall(void) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

int sr_interrupt_signal(void) { return (int)received; }

// Signature of SrTrainOptions.stop.
int sr_interrupt_asked(void *unused) {
    (void)unused;
    return sr_interrupt_signal();
}
