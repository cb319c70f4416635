// Tests communication in a run of one process: sums return their input, and a gather has one
// part.
#include "base/ranks/comm.h"
#include "tests/check.h"

TEST(test_one_process) {
    CHECK_INT(sr_comm_rank(), 0);
    CHECK_INT(sr_comm_size(), 1);
    double d[] = {1.5, -2};
    sr_comm_all_reduce_f64(d, 2, SR_COMM_SUM);
    CHECK(d[0] == 1.5 && d[1] == -2);
    int mine[] = {3, 4}, all[] = {0, 0};
    sr_comm_all_gather(mine, sizeof mine, all);
    CHECK(all[0] == 3 && all[1] == 4);
    sr_comm_all_gather(all, sizeof all, all); // gathers in place
    sr_comm_broadcast(all, sizeof all, 0);
    CHECK(all[0] == 3 && all[1] == 4);
}

SR_TESTS(comm, unit(test_one_process))
