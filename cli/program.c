// Finds the verb of a command and turns its status into an exit code (program.h).
#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parallel.h"
#include "base/ranks/comm.h"
#include "base/ranks/rank_cores.h"
#include "base/text/text.h"
#include "base/version.h"
#include "cli/args/args.h"
#include "cli/environment.h"
#include "cli/help/overview.h"
#include "cli/help/verb_page.h"
#include "cli/interrupt.h"
#include "cli/restart.h"
#include "cli/verb.h"
#include "data/decode.h"
#include "data/sandbox.h"
#include "kernels/machine.h"
#include "pages/web/web_server.h"

// Opens /dev/null for closed standard streams.  Otherwise the first file that is opened, such as
// a lock or a checkpoint, would get the number of stderr and all its lines.  Read-only, so that
// writes fail as they would on a closed stream.
static void hold_closed_streams(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static SrStatus print_help(void) {
    SrText out = SR_TEXT_INIT;
    sr_overview(&out);
    return sr_args_print(&out);
}

// Prints the commonest verbs to stderr: a call without arguments is wrong usage.
static int print_brief(void) {
    SrText out = SR_TEXT_INIT;
    sr_overview_brief(&out);
    fputs(out.s ? out.s : "", stderr);
    sr_text_deinit(&out);
    return 2;
}

// True: the first argument looks like a file or an override, so that the verb is `train`.
// Examples are `sslrun configs/swav.yaml` and VISSL's `config=pretrain/x/y`.
static bool is_config(const char *arg) {
    return strchr(arg, '/') || strchr(arg, '=') || sr_text_ends(arg, ".yaml") ||
           sr_text_ends(arg, ".yml");
}

// Removes -q and -v, which every verb accepts in any place; returns the number of remaining
// arguments.
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

// Runs a verb, or prints its page if an argument asks for help.  `manual words` takes the words of
// another command line.
static SrStatus run(const SrVerb *verb, int argc, char **argv) {
    SrText page = SR_TEXT_INIT;
    bool words = strcmp(verb->name, "manual") == 0 && argc > 0 && strcmp(argv[0], "words") == 0;
    if (words || !sr_args_ask_help(argc, argv))
        return verb->run(argc, argv);
    sr_verb_page(verb, SR_PAGE_TEXT, &page);
    return sr_args_print(&page);
}

static SrStatus dispatch(int argc, char **argv) {
    const SrVerb *verb;
    if (sr_verb_find(argv[1], &verb) == SR_OK)
        return run(verb, argc - 2, argv + 2);
    if (argv[1][0] == '-')
        SR_FAIL(SR_ERR_CONFIG,
                "unknown option '%s': a verb or a configuration comes first; `sslrun --help` lists "
                "them",
                argv[1]);
    if (!is_config(argv[1]))
        return SR_ERR_CONFIG;
    SR_TRY(sr_verb_find("train", &verb));
    return run(verb, argc - 1, argv + 1);
}

// Joins the ranks and silences all but rank 0; the others write errors only.
static SrStatus join_ranks(const SrCommLibrary *library) {
    SR_TRY(sr_comm_start(library));
    int threads = sr_rank_cores();
    if (threads > 0)
        sr_parallel_set_threads(threads);
    if (sr_comm_rank() == 0)
        return SR_OK;
    sr_log_set_level(SR_LOG_ERROR);
    if (!freopen("/dev/null", "w", stdout))
        SR_FAIL(SR_ERR_IO, "cannot open /dev/null");
    return SR_OK;
}

// The line is one write, so that what other ranks and mpirun write comes before or after it.
static void print_failure(void) {
    bool colored = sr_log_has_colors();
    char who[300] = "";
    if (sr_comm_size() > 1)
        snprintf(who, sizeof who, "rank %d on %s: ", sr_comm_rank(), sr_comm_host(sr_comm_rank()));
    sr_log_end_live();
    fprintf(stderr, "%ssslrun:%s %s%s\n", colored ? "\033[31m" : "", colored ? "\033[0m" : "", who,
            sr_status_message());
}

// Ends this rank.  A result that all ranks agree on ends in order.  Any other failure ends all
// ranks at once with one line.  Rank 0 reports what fails on every rank, so the others wait a
// moment for it.
static int leave_ranks(SrStatus status) {
    int code = sr_status_exit_code(status);
    if (status == SR_ERR_INTERRUPT)
        code = 128 + sr_comm_max(sr_interrupt_signal());
    if (status != SR_OK && status != SR_ERR_INTERRUPT && sr_comm_rank() > 0)
        sr_comm_give_way();
    if (status != SR_OK && (sr_comm_rank() == 0 || status != SR_ERR_INTERRUPT))
        print_failure();
    if (status != SR_OK && status != SR_ERR_INTERRUPT && sr_comm_size() > 1)
        sr_comm_abort(code);
    sr_comm_stop();
    return code;
}

// Flushes stdout and fails if its buffer cannot be written, as on a full disk.
static SrStatus flush_output(void) {
    if (fflush(stdout) != 0 || ferror(stdout))
        SR_FAIL(SR_ERR_IO, "cannot write to standard output");
    return SR_OK;
}

int sr_program(const SrCommLibrary *library, int argc, char **argv) {
    hold_closed_streams();
    sr_environment_threads();
    sr_restart_with_settings(argv);
    sr_args_remember(argc, argv);
    argc = take_log_level(argc, argv);
    if (argc < 2)
        return print_brief();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return leave_ranks(print_help());
    if (strcmp(argv[1], "--version") == 0) {
        printf("sslrun " SR_VERSION "\nJPEG by %s, WebP by %s, TIFF by %s, HEIC and AVIF by %s, "
               "sandbox by %s, web page by %s\n"
               "instructions up to %s\nOpenBLAS with its %s kernels\nranks by %s\n",
               sr_image_decoder_name(), sr_image_webp_name(), sr_image_tiff_name(),
               sr_image_heif_name(), sr_sandbox_name(), sr_web_library(),
               sr_machine_name(sr_machine_default()), sr_blas_core(),
               library ? library->name : "nothing: one process");
        return leave_ranks(flush_output());
    }
    // A file beyond `ulimit -f` becomes a write error, which is reported and cleaned up.
    signal(SIGXFSZ, SIG_IGN);
    sr_interrupt_begin();
    SrStatus status = join_ranks(library);
    if (status == SR_OK)
        status = sr_environment_check();
    sr_parallel_init();
    if (getenv("OPENBLAS_CORETYPE"))
        sr_log(SR_LOG_DEBUG, "OpenBLAS uses its %s kernels, as OPENBLAS_CORETYPE asks",
               sr_blas_core());
    if (status == SR_OK)
        status = dispatch(argc, argv);
    if (status == SR_OK)
        status = flush_output();
    return leave_ranks(status);
}
