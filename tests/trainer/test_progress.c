// Tests progress of a run: rates, remaining time, and their texts.
#include "base/clock.h"
#include "tests/check.h"
#include "trainer/run/meters/progress.h"

TEST(test_durations) {
    char s[48];
    CHECK_STR(sr_duration_text(0, s, sizeof s), "0:00:00");
    CHECK_STR(sr_duration_text(59.6, s, sizeof s), "0:01:00");
    CHECK_STR(sr_duration_text(3753, s, sizeof s), "1:02:33");
    CHECK_STR(sr_duration_text(86400 + 61, s, sizeof s), "1 day, 0:01:01");
    CHECK_STR(sr_duration_text(-5, s, sizeof s), "0:00:00");
    CHECK_STR(sr_duration_text(NAN, s, sizeof s), "0:00:00");
    CHECK_STR(sr_bytes_text(999, s, sizeof s), "999 B");
    CHECK_STR(sr_bytes_text(1536.0 * 1024, s, sizeof s), "1.5 MB");
}

TEST(test_rates) {
    SrProgress p;
    sr_progress_start(&p, 100, 32);
    CHECK_NEAR(sr_progress_eta(&p, 0), 0, 0);
    CHECK_NEAR(sr_progress_rate(&p), 0, 0);
    for (int i = 0; i < 10; i++)
        sr_progress_step(&p, 0.5, 0.1);
    CHECK_NEAR(sr_progress_eta(&p, 10), 45, 1e-9);
    CHECK_NEAR(sr_progress_rate(&p), 64, 1e-9);
    CHECK_NEAR(sr_progress_wait(&p), 0.2, 1e-9);
    CHECK_NEAR(sr_progress_eta(&p, 120), 0, 0);
    p.later_steps = 20;
    CHECK_NEAR(sr_progress_eta(&p, 10), 55, 1e-9);
    p.later_steps = 0;
    sr_progress_reset_window(&p);
    CHECK_NEAR(sr_progress_rate(&p), 0, 0);
    // One slow step among many hardly changes the remaining time; a lasting change does.
    sr_progress_step(&p, 5, 0);
    CHECK(p.step_s < 1);
    for (int i = 0; i < 500; i++)
        sr_progress_step(&p, 2, 0);
    CHECK_NEAR(p.step_s, 2, 0.02);
}

TEST(test_line) {
    SrProgress p;
    char s[512];
    sr_progress_start(&p, 200, 64);
    sr_progress_step(&p, 0.25, 0.05);
    SrProgressLine line = {
        .epoch = 1, .iteration = 99, .epoch_step = 9, .epoch_steps = 90, .lr = 0.3, .loss = 5.25};
    sr_progress_text(&p, &line, 0, s, sizeof s);
    CHECK_STR(s, "[ep: 1] iter: 10/90; lr: 0.3; loss: 5.25000; btime(ms): 250; eta: 0:00:25; "
                 "images/s: 256; data wait: 20%");
    SrProgress slow;
    sr_progress_start(&slow, 200, 1);
    sr_progress_step(&slow, 2.4, 0);
    sr_progress_text(&slow, &line, 0, s, sizeof s);
    CHECK(strstr(s, "images/s: 0.42;"));
    char small[20]; // the text is cut to the buffer
    sr_progress_text(&p, &line, 0, small, sizeof small);
    CHECK_INT(strlen(small), 19);
    sr_progress_text(&p, &line, 80, s, sizeof s);
    CHECK_STR(s, "[ep: 1] iter: 10/90; lr: 0.3; loss: 5.25000; btime(ms): 250; eta: 0:00:25");
    sr_progress_text(&p, &line, 73, s, sizeof s); // one column stays free
    CHECK_STR(s, "[ep: 1] iter: 10/90; lr: 0.3; loss: 5.25000; eta: 0:00:25");
    sr_progress_text(&p, &line, 10, s, sizeof s); // the shortest form of the text
    CHECK_STR(s, "[ep: 1] iter: 10/90; loss: 5.25000; eta: 0:00:25");
}

SR_TESTS(progress, unit(test_durations), unit(test_rates), unit(test_line))
