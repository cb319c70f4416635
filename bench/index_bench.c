// Measures an index of many rows: writing it, opening it, one query, all pairs within a bound of
// memory, and outliers and choices whose rows are held in memory or read from the file.
//
//     gcc -O2 -fopenmp -D_GNU_SOURCE -I. -Ibuild bench/index_bench.c libsslrun.a $(LDLIBS of the
//     Makefile) -o index_bench
//     ./index_bench FILE ROWS DIM [PAIRS]     PAIRS: rows of which the neighbours are searched
//     ./index_bench FILE ROWS DIM outliers|centres|typical held|file
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "folder/index/index_writer.h"
#include "folder/near_rows.h"
#include "folder/nearest.h"
#include "folder/outliers.h"
#include "folder/selection.h"
#include "kernels/core/half.h"

enum { BLOCK = 4096 };

static void check(SrStatus status) {
    if (status != SR_OK) {
        fprintf(stderr, "%s\n", sr_status_message());
        exit(1);
    }
}

// Rows of length 1, uniform in each number.
static void write_file(const char *path, int64_t n, int d) {
    SrIndexWriter *w;
    SrIndexFile *present;
    static SrIndexRecord record[BLOCK];
    static char name[BLOCK][32];
    float *x = sr_alloc((size_t)d * sizeof *x);
    uint16_t *half = sr_alloc((size_t)BLOCK * (size_t)d * sizeof *half);
    uint32_t *number = sr_alloc((size_t)n * sizeof *number);
    int32_t *label = sr_alloc((size_t)n * sizeof *label);
    check(sr_index_writer_open(path, &(SrIndexKind){1, d, "{}"}, &w, &present));
    for (int64_t i = 0; i < n; i++) {
        SrRng rng = sr_rng(0, SR_RNG_TEST, 0, (uint64_t)i, 0, 0);
        double sum = 0;
        int k = (int)(i % BLOCK);
        sr_rng_fill_range(&rng, -1, 1, x, d);
        for (int j = 0; j < d; j++)
            sum += (double)x[j] * (double)x[j];
        for (int j = 0; j < d; j++)
            x[j] = (float)((double)x[j] / __builtin_sqrt(sum));
        sr__half()->from_float(half + (int64_t)k * d, x, d);
        snprintf(name[k], sizeof name[k], "images/%08lld.jpg", (long long)i);
        record[k] = (SrIndexRecord){.name = name[k], .hash = (uint64_t)i, .length = 1};
        number[i] = (uint32_t)i;
        label[i] = -1;
        if (k + 1 == BLOCK || i + 1 == n)
            check(sr_index_writer_add(w, record, half, k + 1));
    }
    check(sr_index_writer_list(w, &(SrIndexList){n, number, label, 0, NULL, 0}));
    check(sr_index_writer_close(w));
}

static long peak_mb(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss / 1024;
}

// Runs a search and prints its time, the largest memory of the process and a hash of the answer.
static void search_all(const SrIndex *index, const char *what, bool held) {
    enum { CHOSEN = 200 };
    int64_t *label = sr_calloc((size_t)sr_index_rows(index), sizeof *label), chosen[CHOSEN];
    SrMatrix matrix = {0};
    SrOutlierReport report = {0};
    uint64_t hash;
    if (held)
        check(sr_index_matrix(index, &matrix));
    SrRowView rows = held ? sr_row_view(&matrix) : sr_index_view(index, label);
    double began = sr_clock();
    if (strcmp(what, "outliers") == 0) {
        check(sr_outliers(&(SrOutlierOptions){.share = 0.1}, &rows, &report));
        hash = sr_hash_bytes(report.v, (size_t)report.n * sizeof *report.v);
    } else {
        SrSelectMethod method = strcmp(what, "centres") ? SR_SELECT_TYPICAL : SR_SELECT_CENTRES;
        check(sr_select_rows(&(SrSelectOptions){.method = method}, &rows, CHOSEN, chosen));
        hash = sr_hash_bytes(chosen, sizeof chosen);
    }
    printf("%s, rows %s: %.1f s, peak memory %ld MB, answer %016llx\n", what,
           held ? "held" : "in the file", sr_clock() - began, peak_mb(), (unsigned long long)hash);
    sr_outliers_deinit(&report);
    sr_matrix_deinit(&matrix);
    sr_free(label);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int64_t n = atoll(argv[2]), pairs = argc > 4 ? atoll(argv[4]) : 0;
    int d = atoi(argv[3]);
    SrIndex *index;
    SrNear near[10];
    float *q = calloc((size_t)d, sizeof *q);
    sr_parallel_init();
    FILE *f = fopen(argv[1], "r");
    if (!f)
        write_file(argv[1], n, d);
    else
        fclose(f);
    double began = sr_clock();
    check(sr_index_open(argv[1], &index));
    double opened = sr_clock();
    if (argc > 5) {
        search_all(index, argv[4], strcmp(argv[5], "held") == 0);
        sr_index_close(index);
        return 0;
    }
    sr_index_read(index, n / 2, 1, q);
    check(sr_nearest(index, q, 10, near));
    double first = sr_clock();
    check(sr_nearest(index, q, 10, near));
    double second = sr_clock();
    printf("open %.2f ms, first query %.1f ms, second query %.1f ms, nearest row %u of %lld\n",
           1e3 * (opened - began), 1e3 * (first - opened), 1e3 * (second - first), near[0].row,
           (long long)sr_index_rows(index));
    if (pairs > 0) {
        SrIndex *part;
        char path[4096];
        snprintf(path, sizeof path, "%s.part", argv[1]);
        write_file(path, pairs, d);
        check(sr_index_open(path, &part));
        SrNear *out = malloc((size_t)pairs * 8 * sizeof *out);
        began = sr_clock();
        check(sr_near_rows(
            &(SrNearOptions){
                .from = part, .to = index, .k = 8, .memory = (size_t)1 << 29, .what = "rows"},
            out));
        printf("%lld x %lld pairs in %.1f s, peak memory %ld MB\n", (long long)pairs, (long long)n,
               sr_clock() - began, peak_mb());
        free(out);
        sr_index_close(part);
        remove(path);
    }
    sr_index_close(index);
    return 0;
}
