// Translates what VISSL's files say to a cluster: names of sharded modules, numbers of machines and
// processes, and batch norms over several replicas.
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"

// Ending of VISSL's fully sharded modules, which compute the same as the plain ones.
static const char sharded[] = "_fsdp";
// VISSL's RegNet whose blocks are grouped for sharding has its own name.
static const char grouped[] = "regnet_v2";

// trainer/config/vissl/missing_plugins.c also calls it, before any name in the tree is replaced.
const char *sr__unsharded_name(const char *name, SrArena *arena) {
    if (strcmp(name, grouped) == 0)
        return "regnet";
    if (!sr_text_ends(name, sharded))
        return name;
    return sr_arena_printf(arena, "%.*s", (int)(strlen(name) - strlen(sharded)), name);
}

// Replaces the name in place, so that it keeps its line number, and logs a line.
static SrStatus unshard(SrYaml *node, const char *key, SrArena *arena) {
    if (!node || node->type != SR_YAML_STRING)
        return SR_OK;
    const char *plain = sr__unsharded_name(node->text, arena);
    SR_TRY_MEMORY(plain, "%s", key);
    if (strcmp(plain, node->text) == 0)
        return SR_OK;
    sr_info("%s: %s: %s means %s in sslrun, since every rank holds the whole model",
            sr_yaml_place(node).text, key, node->text, plain);
    node->text = plain;
    return SR_OK;
}

// Replaces the names of single heads and chains; the parser refuses other forms.
static SrStatus unshard_heads(SrYaml *list, SrArena *arena) {
    static const char key[] = "MODEL.HEAD.PARAMS";
    for (int i = 0; list && list->type == SR_YAML_LIST && i < list->n; i++) {
        SrYaml *entry = list->items[i];
        if (entry->type != SR_YAML_LIST || entry->n == 0)
            continue;
        SR_TRY(unshard(entry->items[0], key, arena));
        for (int j = 0; entry->items[0]->type == SR_YAML_LIST && j < entry->n; j++)
            if (entry->items[j]->type == SR_YAML_LIST && entry->items[j]->n > 0)
                SR_TRY(unshard(entry->items[j]->items[0], key, arena));
    }
    return SR_OK;
}

// Turns DISTRIBUTED.REPLICAS into a number.  recipe: the number that the file's machines make.
static SrStatus read_replicas(const SrConfig *config, int64_t recipe, int64_t *out) {
    const SrYaml *given = config->replicas_given;
    if (!given || (given->type == SR_YAML_STRING && strcmp(given->text, "auto") == 0))
        *out = sr_comm_size();
    else if (given->type == SR_YAML_STRING && strcmp(given->text, "recipe") == 0)
        *out = recipe;
    else if (given->type == SR_YAML_INT)
        *out = given->i;
    else
        *out = 0;
    if (*out < 1 || *out > 65536)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: DISTRIBUTED.REPLICAS: expected a number from 1 to 65536, recipe or auto",
                sr_yaml_place(given).text);
    return SR_OK;
}

// One process runs any number of replicas, one after the other.  Logs a line if the file asks for
// something else, and writes the true number into the tree for the saved configuration.
static SrStatus resolve_world(SrConfig *config) {
    SrYaml *map = sr_yaml_find(config->tree, "DISTRIBUTED");
    int64_t asked = (int64_t)config->num_nodes * config->num_proc_per_node, replicas = 1;
    SR_TRY(read_replicas(config, asked, &replicas));
    config->replicas = (int)replicas;
    if (!map || map->type != SR_YAML_MAP)
        return SR_OK;
    bool given = !sr_tree_is_default(sr_yaml_find(map, "NUM_NODES")) ||
                 !sr_tree_is_default(sr_yaml_find(map, "NUM_PROC_PER_NODE"));
    if (given && asked != replicas)
        sr_info("DISTRIBUTED asks for %lld processes, but this run has %d; batch size and learning "
                "rate are those of this run (DISTRIBUTED.REPLICAS=recipe uses the file's)",
                (long long)asked, config->replicas);
    SR_TRY(sr_tree_put_int(&config->arena, map, "NUM_NODES", 1));
    return sr_tree_put_int(&config->arena, map, "NUM_PROC_PER_NODE", replicas);
}

// Returns the number of replicas per batch-norm group.  world: all replicas; node: those of one
// machine.
static int sync_bn_group(const SrConfig *config, int world, int node) {
    int asked = config->model.sync_bn_group;
    if (!config->model.sync_bn || asked == 0)
        return config->model.sync_bn ? world : 1;
    return SR_MIN(asked > 0 ? asked : node, world);
}

// Returns the number of neighbouring ranks that share a group with more replicas than one rank has;
// their batch norms add their sums.  1 with gradient accumulation: the replicas of a group would be
// in different rounds.
static int sync_bn_ranks(const SrConfig *config, int world, int group) {
    int mine = world / sr_comm_size();
    bool shared = world % sr_comm_size() == 0 && group > mine && group % mine == 0;
    return shared && config->optimizer.accumulation == 1 ? group / mine : 1;
}

// Turns each group of replicas that share batch norms into one replica with a larger batch.  The
// tree gets the group's size as a number: the rules 0 and -1 need the file's number of machines.
static SrStatus resolve_sync_bn(SrConfig *config, int node) {
    static const char key[] = "MODEL.SYNC_BN_CONFIG.GROUP_SIZE";
    int world = config->replicas, group = sync_bn_group(config, world, node);
    const SrYaml *given = sr_yaml_find_path(config->tree, key);
    if (world % group)
        SR_FAIL(
            SR_ERR_CONFIG,
            "%s: %s: groups of %d do not divide %d replicas; give a divisor, or 0 for all replicas",
            sr_yaml_place(given).text, key, group, world);
    if (config->model.sync_bn && world == 1)
        sr_info("MODEL.SYNC_BN_CONFIG is accepted and changes nothing: there is one replica, and "
                "its batch norms use its whole batch (DISTRIBUTED.REPLICAS)");
    config->sync_bn_ranks = sync_bn_ranks(config, world, group);
    config->sync_bn_group = group / config->sync_bn_ranks;
    // Rounds of gradient accumulation are further replicas: their gradients are summed the same
    // way.
    config->replicas = world / config->sync_bn_group * config->optimizer.accumulation;
    SrYaml *map = sr_yaml_find_path(config->tree, "MODEL.SYNC_BN_CONFIG");
    if (group > 1 && map)
        return sr_tree_put_int(&config->arena, map, "GROUP_SIZE", group);
    return SR_OK;
}

// Runs after all names were checked: a wrong file gives its error and no other line.
SrStatus sr__sharding_resolve(SrConfig *config) {
    SrYaml *tree = config->tree;
    SrArena *arena = &config->arena;
    SR_TRY(unshard(sr_yaml_find_path(tree, "MODEL.TRUNK.NAME"), "MODEL.TRUNK.NAME", arena));
    SR_TRY(unshard_heads(sr_yaml_find_path(tree, "MODEL.HEAD.PARAMS"), arena));
    SR_TRY(unshard(sr_yaml_find_path(tree, "OPTIMIZER.name"), "OPTIMIZER.name", arena));
    int node = config->num_proc_per_node;
    SR_TRY(resolve_world(config));
    return resolve_sync_bn(config, node);
}

// "module." comes from the data-parallel wrapper; infixes of sharding stand at any depth.
const char *sr__plain_param_name(const char *name, SrArena *arena) {
    static const char *const wrappers[] = {"_fsdp_wrapped_module.", "_fpw_module."};
    name += sr_text_starts(name, "module.") ? strlen("module.") : 0;
    for (int i = 0; name && i < SR_COUNT(wrappers); i++)
        for (const char *hit = strstr(name, wrappers[i]); name && hit;
             hit = name ? strstr(name, wrappers[i]) : NULL)
            name = sr_arena_printf(arena, "%.*s%s", (int)(hit - name), name,
                                   hit + strlen(wrappers[i]));
    return name;
}
