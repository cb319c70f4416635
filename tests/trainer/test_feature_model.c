// The C interface: listing, features, misuse; and its example as a program of its own.
#include "sslrun.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

static void test_use(void **state) {
    (void)state;
    SrFeatureModel *m;
    SrFeatureShape s;
    float x[2 * 3 * 16 * 16];
    for (int i = 0; i < 2 * 3 * 16 * 16; i++)
        x[i] = sinf((float)i);
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 2, 16, 16, &m), 0);
    CHECK_INT(sr_feature_model_node(m, 1, &s), 1);
    CHECK_STR(s.name, "conv1");
    CHECK(s.rank == 4 && s.shape[1] == 4 && s.shape[3] == 16);
    CHECK_INT(sr_feature_model_node(m, 1000, &s), 0);
    CHECK(sr_feature_model_run(m, x) != 0);
    CHECK(strstr(sr_status_message(), "sr_feature_model_tap first"));
    CHECK_INT(sr_feature_model_tap(m, "layer2,flatten:f", NULL, 0), 0);
    CHECK_INT(sr_feature_model_run(m, x), 0);
    const float *f = sr_feature_model_output(m, 1, &s);
    CHECK_STR(s.name, "f");
    CHECK(s.rank == 2 && s.shape[0] == 2 && s.shape[1] == 32);
    float first = f[0];
    CHECK_INT(sr_feature_model_run(m, x), 0);
    CHECK_NEAR(sr_feature_model_output(m, 1, &s)[0], first, 0);
    CHECK(sr_feature_model_output(m, 2, &s) == NULL);
    CHECK_INT(sr_feature_model_tap(m, "layer1", NULL, 1), 0); // again, other layers
    CHECK_INT(sr_feature_model_run(m, x), 0);
    CHECK(sr_feature_model_tap(m, "layer9", NULL, 0) != 0);
    CHECK(strstr(sr_status_message(), "there is no layer 'layer9'"));
    CHECK(sr_feature_model_output(m, 0, &s) == NULL);
    sr_feature_model_close(m);
    CHECK(sr_feature_model_open("resnet51", 1, 32, 32, &m) != 0);
    CHECK(m == NULL && strstr(sr_status_message(), "did you mean 'resnet50'"));
    CHECK(sr_feature_model_open("resnet50", 0, 32, 32, &m) != 0);
    sr_feature_model_close(NULL);
}

static void test_example(void **state) {
    (void)state;
    char self[4096], command[4200], line[128];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = '\0';
    snprintf(command, sizeof command, "%s/features", dirname(self));
    FILE *out = popen(command, "r");
    CHECK(out && fgets(line, sizeof line, out));
    CHECK_STR(line, "176 nodes, the last is fc\n");
    CHECK(fgets(line, sizeof line, out) && strstr(line, "layer1 [2, 256, 16, 16]"));
    CHECK(fgets(line, sizeof line, out) && strstr(line, "embedding [2, 2048, 1, 1]"));
    CHECK_INT(pclose(out), 0);
}

SR_TESTS(feature_model, unit(test_use), unit(test_example))
