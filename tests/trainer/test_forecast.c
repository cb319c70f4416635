// Tests the forecast of the time of a step on several machines, against sums computed by hand.
#include "tests/check.h"
#include "trainer/bench/forecast.h"

static SrForecastInput input(int replicas, int ranks, double gbit) {
    return (SrForecastInput){.replica_s = 3,
                             .backward_share = 2.0 / 3,
                             .gradient_bytes = 100e6,
                             .replicas = replicas,
                             .ranks = ranks,
                             .gbit = gbit};
}

static void check_near(double a, double b) { CHECK(fabs(a - b) <= 1e-9 * fmax(1, fabs(b))); }

TEST(test_alone) {
    SrForecastInput in = input(4, 1, 10);
    SrForecast f = sr_forecast(&in);
    check_near(f.step_s, 12);
    check_near(f.exchange_s, 0);
    check_near(f.efficiency, 1);
    in.twice = true; // a forward of 1 s again for each but the last, which keeps its activations
    check_near(sr_forecast(&in).step_s, 15);
    check_near(sr_forecast_passes(1, true, 2.0 / 3), 1);
    check_near(sr_forecast_passes(4, false, 2.0 / 3), 4);
}

// An all-reduce of 100 MB sends 2 * 3/4 of them: 0.12 s at 10 Gbit/s, and four messages. The
// backward pass of 2 s hides all but the last 25 MB.
TEST(test_hidden) {
    SrForecastInput in = input(4, 4, 10);
    SrForecast f = sr_forecast(&in);
    check_near(f.exchange_s, 0.12 + 4 * 30e-6);
    check_near(f.exposed_s, 0.03 + 4 * 30e-6);
    check_near(f.step_s, 3 + f.exposed_s);
    check_near(f.efficiency, 3 / f.step_s);
}

// At 0.1 Gbit/s the exchange takes 12 s, of which the backward pass hides its 2 s only.
TEST(test_slow_network) {
    SrForecastInput in = input(4, 4, 0.1);
    SrForecast f = sr_forecast(&in);
    check_near(f.exposed_s, 12 + 4 * 30e-6 - 2);
    CHECK(f.efficiency < 0.24);
}

SR_TESTS(forecast, unit(test_alone), unit(test_hidden), unit(test_slow_network))
