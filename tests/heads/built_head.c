// Builds one head on one input, for tests (built_head.h).
#include "tests/heads/built_head.h"

#include "base/text/yaml_load.h"
#include "tests/check.h"

SrStatus built_head_init(BuiltHead *t, const SrHeadSettings *settings, const char *name,
                         const char *arguments, SrShape shape) {
    const SrHead *head;
    SrYaml *map = NULL;
    SrBuilder *b;
    *t = (BuiltHead){.n_out = 0};
    CHECK_OK(sr_head_find(name, &head));
    CHECK_OK(sr_yaml_parse(&t->arena, arguments, strlen(arguments), "test", &map));
    void *params = sr_arena_alloc(&t->arena, head->params_bytes + 1);
    SR_TRY(sr_options_parse(head->options, map, name, &t->arena, params));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    CHECK_OK(sr_builder_new(t->graph, &b));
    t->x = sr_build_input(b, "x", shape, SR_F32);
    SrStatus status = head->build(b, params, settings, &t->x, 1, t->out, &t->n_out);
    if (status == SR_OK)
        status = sr_builder_status(b);
    sr_builder_free(b);
    return status;
}

void built_head_draw(BuiltHead *t, uint64_t seed) {
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, seed);
}

void built_head_deinit(BuiltHead *t) {
    sr_plan_free(t->plan);
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}
