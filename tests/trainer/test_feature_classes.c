// Classes of two sets of features are matched by name, or by number if there are no names.
// Classes that TRAIN does not have are refused.
#include "base/mem.h"
#include "tests/check.h"
#include "trainer/eval/extract/feature_classes.h"

static void add(SrStringList *list, const char *const *names, int n) {
    *list = (SrStringList){0};
    for (int i = 0; i < n; i++)
        CHECK_OK(sr__string_list_add(list, names[i], strlen(names[i])));
}

TEST(test_names) {
    int64_t live = sr_mem_live();
    SrStringList a, b;
    int64_t known[4] = {0, 1, 2, 3}, label[5] = {0, 1, -1, 1, 0};
    SrMatrix train = {.n = 4, .label = known}, test = {.n = 5, .label = label};
    SrFeatureSide x = {"TRAIN", &train, &a}, y = {"TEST", &test, &b};
    add(&a, (const char *const[]){"ant", "bee", "cow", "dog"}, 4);
    add(&b, (const char *const[]){"cow", "bee", "elk"}, 3);
    CHECK_OK(sr_feature_classes_match(&x, &y)); // elk has no rows
    CHECK(label[0] == 2 && label[1] == 1 && label[2] == -1 && label[3] == 1 && label[4] == 2);
    label[0] = 2;
    label[4] = 7;
    CHECK_FAILS(sr_feature_classes_match(&x, &y), SR_ERR_CONFIG,
                "TEST has rows of classes that TRAIN has not: 'elk', 7;");
    CHECK_INT(label[0], 2); // no label was changed
    sr__string_list_deinit(&a);
    sr__string_list_deinit(&b);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_numbers) {
    SrStringList none = {0}, named;
    int64_t known[2] = {0, 4}, label[2] = {3, -1};
    SrMatrix train = {.n = 2, .label = known}, test = {.n = 2, .label = label};
    add(&named, (const char *const[]){"ant", "bee"}, 2);
    for (int i = 0; i < 2; i++) { // names on one side only are ignored
        SrFeatureSide x = {"TRAIN", &train, i ? &named : &none}, y = {"TEST", &test, &none};
        label[0] = 3;
        CHECK_OK(sr_feature_classes_match(&x, &y));
        CHECK_INT(label[0], 3);
        label[0] = 5;
        CHECK_FAILS(sr_feature_classes_match(&x, &y), SR_ERR_CONFIG, "TRAIN has not: 5;");
    }
    sr__string_list_deinit(&named);
}

TEST(test_columns) {
    SrStringList a, b;
    int64_t label[1] = {-1};
    int8_t target[2] = {1, 0};
    SrMatrix f = {.n = 1, .label = label, .n_targets = 2, .target = target};
    SrFeatureSide x = {"TRAIN", &f, &a}, y = {"TEST", &f, &b};
    add(&a, (const char *const[]){"ant", "bee"}, 2);
    add(&b, (const char *const[]){"bee", "ant"}, 2);
    CHECK_FAILS(sr_feature_classes_match(&x, &y), SR_ERR_CONFIG, "column 0 is 'ant' and 'bee'");
    sr__string_list_deinit(&b);
    add(&b, (const char *const[]){"ant", "bee"}, 2);
    CHECK_OK(sr_feature_classes_match(&x, &y));
    sr__string_list_deinit(&a);
    sr__string_list_deinit(&b);
}

SR_TESTS(feature_classes, unit(test_names), unit(test_numbers), unit(test_columns))
