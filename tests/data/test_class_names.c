// Tests lists of strings: their order, and what a failed allocation leaves of one.
#include "data/sets/class_names.h"

#include <string.h>

#include "base/mem.h"
#include "tests/check.h"

// The room that a list believes to have stays what it has, so that the next string may be added.
TEST(test_memory_is_short) {
    SrStringList list = {0};
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_OK(sr__string_list_add(&list, "one", 3));
    size_t cap = list.cap;
    sr_mem_fail_at(1);
    CHECK_INT(sr__string_list_add(&list, longer, sizeof longer - 1), SR_ERR_MEMORY);
    sr_mem_fail_at(0);
    CHECK_INT(list.cap, cap);
    CHECK_OK(sr__string_list_add(&list, longer, sizeof longer - 1));
    CHECK_INT(list.n, 2);
    CHECK_STR(sr__string_list_get(&list, 0), "one");
    CHECK_STR(sr__string_list_get(&list, 1), longer);
    sr__string_list_deinit(&list);
}

TEST(test_order) {
    SrStringList list = {0};
    const char *const names[] = {"dog", "cat", "Dog", "cat"};
    for (int i = 0; i < SR_COUNT(names); i++)
        CHECK_OK(sr__string_list_add(&list, names[i], 3));
    sr__string_list_sort(&list, 0);
    sr__string_list_unique(&list);
    CHECK_INT(list.n, 3);
    CHECK_STR(sr__string_list_get(&list, 0), "Dog");
    CHECK_INT(sr__string_list_find(&list, "dog"), 2);
    CHECK_INT(sr__string_list_find(&list, "cow"), -1);
    sr__string_list_deinit(&list);
}

SR_TESTS(class_names, unit(test_memory_is_short), unit(test_order))
