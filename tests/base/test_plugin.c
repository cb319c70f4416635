// Tests the error for a name that no plugin has: the closest name, and the known names.
#include "base/mem.h"
#include "base/plugin/plugin.h"
#include "tests/check.h"

static const char *const known[] = {"mlp", "resnet", "vit"};

TEST(test_names_the_nearest) {
    CHECK_FAILS(sr_plugin_unknown("trunk", "resnett", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'resnett'; did you mean 'resnet'? (known: mlp, resnet, vit)");
    CHECK_FAILS(sr_plugin_unknown("trunk", "efficientnet", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'efficientnet' (known: mlp, resnet, vit)");
    CHECK_FAILS(sr_plugin_unknown("verb", "x", known, 0), SR_ERR_CONFIG,
                "unknown verb 'x' (known: none)");
}

// A list that would fill a screen is printed only if no name is close.
TEST(test_long_lists) {
    static char names[30][8];
    const char *known_names[30];
    for (int i = 0; i < 30; i++) {
        snprintf(names[i], sizeof names[i], "model%02d", i);
        known_names[i] = names[i];
    }
    CHECK_FAILS(sr_plugin_unknown("model", "model1", known_names, 30), SR_ERR_CONFIG,
                "did you mean 'model");
    CHECK(strstr(sr_status_message(), "(known") == NULL);
    CHECK_FAILS(sr_plugin_unknown("model", "x", known_names, 30), SR_ERR_CONFIG, "model29)");
}

static const char *name_at(int i) { return i >= 0 && i < 3 ? known[i] : NULL; }

TEST(test_finds_by_name) {
    int i = -1;
    CHECK_OK(sr_plugin_find("trunk", "vit", name_at, &i));
    CHECK_INT(i, 2);
    CHECK_FAILS(sr_plugin_find("trunk", "resnett", name_at, &i), SR_ERR_CONFIG,
                "unknown trunk 'resnett'; did you mean 'resnet'? (known: mlp, resnet, vit)");
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_plugin_find("trunk", "resnett", name_at, &i), SR_ERR_CONFIG,
                "unknown trunk 'resnett'");
}

TEST(test_without_memory) {
    int64_t live = sr_mem_live();
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_plugin_unknown("trunk", "resnett", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'resnett'");
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(plugin, unit(test_names_the_nearest), unit(test_long_lists), unit(test_finds_by_name),
         unit(test_without_memory))
