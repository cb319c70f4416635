# Draws the charts of docs/reference from the tables of its pages, so that a chart never says something else than its table.
#
#     awk -v chart=steps   -f bench/charts.awk docs/reference/performance.md >docs/pictures/steps.svg
#     awk -v chart=methods -f bench/charts.awk docs/reference/results.md     >docs/pictures/methods.svg
#
# `make charts` draws both. steps: one point per row of the tables of float32 training steps, at its ratio to PyTorch; the
# word after "###" is the processor. methods: a line per row of the table of all methods, from the untrained trunk's probe
# to the trained one's. Colours follow the reader's choice of light or dark.
function cell(i, text) {
    text = cells[i + 1]
    gsub(/^ +| +$/, "", text)
    return text
}
function escape(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function begin_svg(height, what) {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\" " \
           "font-family=\"sans-serif\" font-size=\"13\">\n", WIDTH, height, WIDTH, height, what
    print "<style>text{fill:#1f2328}.dim{fill:#59636e}.line{stroke:#d1d9e0}.even{stroke:#59636e}" \
          ".a{fill:#0969da;stroke:#0969da}.b{fill:#bf5700;stroke:#bf5700}.c{fill:#1a7f37;stroke:#1a7f37}" \
          ".d{fill:#8250df;stroke:#8250df}.from{fill:#afb8c1}"
    print "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.line{stroke:#3d444d}.even{stroke:#9198a1}" \
          ".a{fill:#4493f8;stroke:#4493f8}.b{fill:#f0883e;stroke:#f0883e}.c{fill:#3fb950;stroke:#3fb950}" \
          ".d{fill:#ab7df8;stroke:#ab7df8}.from{fill:#656c76}}</style>"
}
function text(x, y, anchor, class, what) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, class == "" ? "" : " class=\"" class "\"", escape(what)
}
function grid(from, to, step, top, bottom, unit, v) {
    for (v = from; v <= to + 1e-9; v += step) {
        printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" class=\"%s\"/>\n", at(v), at(v), top, bottom, v == even ? "even" : "line"
        text(at(v), bottom + 17, "middle", "dim", v unit)
    }
}
function at(value) { return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - 30) }
BEGIN { WIDTH = 760; LEFT = 300; ROW = 22; FS = "\n"; classes = "abcd" }
/^## / { section = $0 }
/^### / { machine = substr($0, 5); sub(/,.*/, "", machine) }
/^\|/ { split($0, cells, "|") }
chart == "steps" && section ~ /float32/ && /^\|/ && cell(4) ~ /^[0-9.]+$/ {
    step = cell(1)
    if (!(step in row)) { row[step] = ++rows; name[rows] = step }
    if (!(machine in number)) { number[machine] = ++machines; called[machines] = machine }
    n++
    point_row[n] = row[step]; point_machine[n] = number[machine]; ratio[n] = cell(4)
}
chart == "methods" && section ~ /all methods/ && /^\|/ && cell(8) ~ /^[0-9.]+ [A-Za-z0-9]+$/ && cell(1) !~ /labels alone|distillation/ {
    n++
    name[n] = cell(1); sub(/ \(.*/, "", name[n]); sub(/, for comparison/, "", name[n])
    trained[n] = cell(8) + 0; untrained[n] = trained[n] - cell(9)
}
END {
    if (n == 0) { print "charts: no rows for the chart '" chart "'" >"/dev/stderr"; exit 1 }
    if (chart == "steps") {
        low = 0; even = 1
        for (i = 1; i <= n; i++) if (ratio[i] > high) high = ratio[i]
        high = int(high) + 1
        begin_svg(70 + rows * ROW + 30, "Speed of training steps compared with PyTorch")
        text(10, 20, "start", "", "Training steps in float32: how many times as fast as PyTorch")
        step = 740 / machines
        for (m = 1; m <= machines; m++) {
            printf "<circle cx=\"%d\" cy=\"41\" r=\"5\" class=\"%s\"/>\n", 16 + (m - 1) * step, substr(classes, m, 1)
            text(26 + (m - 1) * step, 45, "start", "", called[m])
        }
        grid(0, high, 1, 58, 62 + rows * ROW, "")
        for (i = 1; i <= rows; i++) text(LEFT - 12, 58 + i * ROW - 5, "end", "", name[i])
        for (i = 1; i <= n; i++)
            printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"5\" class=\"%s\"><title>%s, %s: %s</title></circle>\n", at(ratio[i]),
                58 + point_row[i] * ROW - 9, substr(classes, point_machine[i], 1), escape(name[point_row[i]]), called[point_machine[i]], ratio[i]
    } else {
        low = 30; high = 80
        begin_svg(70 + n * ROW + 30, "Linear probe before and after training, by method")
        text(10, 20, "start", "", "CIFAR-10-JPEG: linear probe of the untrained trunk and after 3 to 25 minutes of one core, per cent")
        printf "<circle cx=\"16\" cy=\"41\" r=\"4\" class=\"from\"/>\n<circle cx=\"126\" cy=\"41\" r=\"5\" class=\"a\"/>\n"
        text(26, 45, "start", "", "untrained"); text(136, 45, "start", "", "trained, best layer")
        grid(low, high, 10, 58, 62 + n * ROW, " %")
        for (i = 1; i <= n; i++) {
            y = 58 + i * ROW - 9
            text(LEFT - 12, y + 4, "end", "", name[i])
            printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" class=\"a\" stroke-width=\"2\"/>\n", at(untrained[i]), at(trained[i]), y, y
            printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" class=\"from\"/>\n", at(untrained[i]), y
            printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"5\" class=\"a\"><title>%s: %.2f, untrained %.2f</title></circle>\n", at(trained[i]), y, escape(name[i]), trained[i], untrained[i]
        }
    }
    print "</svg>"
}
