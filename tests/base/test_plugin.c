// The message for a name no plugin has.
#include "base/mem.h"
#include "base/plugin.h"
#include "tests/check.h"

static const char *const known[] = {"mlp", "resnet", "vit"};

static void test_names_the_nearest(void **state) {
    (void)state;
    CHECK_FAILS(sr_plugin_unknown("trunk", "resnett", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'resnett'; did you mean 'resnet'? (known: mlp, resnet, vit)");
    CHECK_FAILS(sr_plugin_unknown("trunk", "efficientnet", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'efficientnet' (known: mlp, resnet, vit)");
    CHECK_FAILS(sr_plugin_unknown("verb", "x", known, 0), SR_ERR_CONFIG,
                "unknown verb 'x' (known: none)");
}

static void test_without_memory(void **state) {
    (void)state;
    int64_t live = sr_mem_live();
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_plugin_unknown("trunk", "resnett", known, 3), SR_ERR_CONFIG,
                "unknown trunk 'resnett'");
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(plugin, unit(test_names_the_nearest), unit(test_without_memory))
