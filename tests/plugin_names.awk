# Reports comparisons of text with the name of a plugin outside its room. Reads the sources twice; tests/layers.sh calls
# it as
#     awk -f tests/plugin_names.awk FILES pass=2 FILES
# The first pass collects the names of descriptors (`const SrLoss sr_loss_byol_loss = {` ... `.name = "byol_loss"`) with
# the rooms of their files. The second finds comparisons of text with one of them in other rooms: code that depends
# on what a plugin does must ask for a property of its descriptor. Names of ops are part of a graph and names of verbs
# part of the program, so both may be compared.
# The room of a file: its folder, without the shelf inside trunks/ or losses/ or below data/augment.
function room(file) {
    sub(/\/[^\/]*$/, "", file)
    if (file ~ /^(trunks|losses|data\/augment)\//) sub(/\/[^\/]*$/, "", file)
    return file
}
pass != 2 && /^const Sr(Loss|Trunk|Head|Transform|Collator|Dataset|Optimizer|ScheduleKind|Meter) sr_/ { inside = 1 }
pass != 2 && inside && /^    \.name = "/ {
    split($0, q, "\""); home[q[2]] = home[q[2]] " " room(FILENAME) " "; inside = 0
}
pass != 2 && /^\}/ { inside = 0 }
pass == 2 && /(strcmp|strncmp|strcasecmp|sr_text_starts|sr_text_ends)\(/ {
    n = split($0, q, "\"")
    for (i = 2; i <= n; i += 2)
        if (q[i] in home && index(home[q[i]], " " room(FILENAME) " ") == 0) {
            print "by name: " FILENAME ":" FNR " compares with \"" q[i] "\", a plugin of" home[q[i]]; bad = 1
        }
}
END { exit bad }
