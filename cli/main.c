// sslrun: finds the verb and turns its status into an exit code.
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/args.h"
#include "cli/environment.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "data/data.h"
#include "kernels/cpu.h"

// Waiting OpenMP threads must not burn the cores the loader's threads decode on, and OpenBLAS must start no threads of
// its own: ours call it, and each of its would map 128 MiB, where the system refuses (ulimit -v) in a loop without end.
// Both libraries read their settings before main runs, so the only way to give them any is to start again with the
// environment changed.
// Not over the user's own choice of waiting, and not where threads are bound: libgomp has bound this one already, and
// the program started again would find a machine of one core.
static void restart_with_settings(char **argv) {
    static const char *const bound[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};
    const char *blas = getenv("OPENBLAS_NUM_THREADS");
    bool waiting = getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY");
    for (int i = 0; i < SR_COUNT(bound); i++)
        if (getenv(bound[i]))
            return;
    if (waiting && blas && strcmp(blas, "1") == 0)
        return;
    char self[4096]; // the real path, so that the process keeps its name for ps and pkill
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        return;
    self[len] = '\0';
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (!waiting) // some ten microseconds: longer than the gaps inside a step
        setenv("GOMP_SPINCOUNT", "20000", 1);
    execv(self, argv); // where that fails we go on, only slower
}

static void print_help(void) {
    printf("sslrun " SR_VERSION ": self-supervised learning for images\n\n");
    for (int i = 0; sr_verb_at(i); i++)
        printf("  %s\n      %s\n", sr_verb_at(i)->usage, sr_verb_at(i)->help);
    printf("\nKEY=VALUE changes any key of the configuration; `sslrun describe KEY` explains it.\n"
           "-q, --quiet: warnings and results alone; -v, --verbose: what is inferred, too.\n");
}

// `sslrun configs/swav.yaml` and VISSL's `config=pretrain/x/y` train: whatever looks like a file or
// an override belongs to a configuration.
static bool is_config(const char *arg) {
    return strchr(arg, '/') || strchr(arg, '=') || sr_text_ends(arg, ".yaml") ||
           sr_text_ends(arg, ".yml");
}

// -q and -v go with every verb, wherever they stand; returns how many arguments are left.
static int take_log_level(int argc, char **argv) {
    static const struct {
        const char *name;
        SrLogLevel level;
    } flags[] = {{"-q", SR_LOG_WARN},
                 {"--quiet", SR_LOG_WARN},
                 {"-v", SR_LOG_DEBUG},
                 {"--verbose", SR_LOG_DEBUG}};
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        bool taken = false;
        for (int k = 0; k < SR_COUNT(flags); k++)
            if (strcmp(argv[i], flags[k].name) == 0) {
                sr_log_set_level(flags[k].level);
                taken = true;
            }
        if (!taken)
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    return kept;
}

static SrStatus dispatch(int argc, char **argv) {
    const SrVerb *verb;
    if (sr_verb_find(argv[1], &verb) == SR_OK) {
        if (sr_args_ask_help(argc - 2, argv + 2))
            printf("usage: %s\n%s\n", verb->usage, verb->help);
        return verb->run(argc - 2, argv + 2);
    }
    if (!is_config(argv[1]))
        return SR_ERR_CONFIG;
    SR_TRY(sr_verb_find("train", &verb));
    return verb->run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    restart_with_settings(argv);
    sr_args_remember(argc, argv);
    argc = take_log_level(argc, argv);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sslrun " SR_VERSION "\nJPEG by %s, WebP by %s\ninstructions up to %s\n",
               sr_image_decoder_name(), sr_image_webp_name(), sr_cpu_name(sr_cpu_level()));
        return 0;
    }
    // A file beyond `ulimit -f` is an error of its writing, told and cleaned up.
    signal(SIGXFSZ, SIG_IGN);
    SrStatus status = sr_environment_check();
    sr_parallel_init();
    if (status == SR_OK)
        status = dispatch(argc, argv);
    if (status != SR_OK) {
        sr_log_end_live();
        fprintf(stderr, "sslrun: %s\n", sr_status_message());
    }
    // The shell's convention for a process ended by a signal, though this one saved its state first.
    return status == SR_ERR_INTERRUPT ? 128 + sr_interrupt_signal() : sr_status_exit_code(status);
}
