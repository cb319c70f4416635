/* Trains a configuration and prints a line for every update.  Ctrl-C saves the run and stops; the same command resumes.
 *
 *   cc training.c $(pkg-config --cflags --libs sslrun) -o training
 *   ./training CONFIG.yaml [KEY=VALUE ...] */
#include <signal.h>
#include <sslrun.h>
#include <stdio.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

static int on_step(void *arg, const SrTrainStep *step) {
    (void)arg;
    printf("epoch %lld, update %lld of %lld: loss %.4f, rate %.4f\n", (long long)step->epoch,
           (long long)step->step, (long long)step->total_steps, step->loss, step->lr);
    return interrupted;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: training CONFIG.yaml [KEY=VALUE ...]\n");
        return 2;
    }
    signal(SIGINT, on_signal);
    int status = sr_train(argv[1], (const char *const *)argv + 2, argc - 2, on_step, NULL);
    if (status != 0)
        fprintf(stderr, "%s\n", sr_status_message());
    return status != 0;
}
