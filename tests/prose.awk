# Checks the comments of C files and the text of Markdown files; prose.sh says what it looks for and calls this file.
#
# Input: `files` (one path of the tree a line) first, then the files to check. Variables: none.
# Output: one line a finding, `file:line: what: text`. Exit status 1 if there was any.

function report(what, text) {
    sub(/^ +/, "", text)
    printf "%s:%d: %s: %s\n", FILENAME, FNR, what, substr(text, 1, 100)
    found = 1
}

# Words that the field does not use in this sense. Places where "behind" or "beside" stand for space on a page or screen
# are rare enough to be worded otherwise.
function words(text,    low) {
    low = " " tolower(text) " "
    if (low ~ /[^a-z_]spec(ification)? [0-9]/) report("refers to a document outside the tree", text)
    if (low ~ /[^a-z_](behind|beside|besides|anew|foretell|foretells|foretold|whoever)[^a-z_]/) report("word outside the field's English", text)
}

# Every file that a comment names is in the tree, by its whole path or by the end of one.
function names(text,    rest, name) {
    rest = text
    while (match(rest, /[A-Za-z0-9_][A-Za-z0-9_\/-]*\.(c|h|sh|awk|md)([^A-Za-z0-9_*.-]|$)/)) {
        name = substr(rest, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : " "
        rest = substr(rest, RSTART + RLENGTH)
        sub(/[^A-Za-z0-9_]$/, "", name)
        if (before ~ /[*<>~$.\/-]/ || name ~ /^gen\//) continue   # build/gen is made by the Makefile
        if (!(name in known)) report("names a file that is not in the tree", name)
    }
}

function opening(text) {
    if (text ~ /^ *(Of|Its|As|It|The same|What|Whoever|These)[ ,.:;]/) report("opens without its subject", text)
}

function comment_starts(text) {
    opening(text)
    if (text ~ /^ *[Ss]ee the header[. ]*$/) report("says nothing of this file", text)
}

FNR == 1 { in_block = 0; was_comment = 0; code = 0; in_fence = 0; sentence = "" ; is_doc = FILENAME ~ /\.md$/; first++ }

# The list of files of the tree comes first.
first == 1 {
    n = split($0, part, "/")
    path = ""
    for (i = n; i >= 1; i--) { path = i == n ? part[i] : part[i] "/" path; known[path] }
    next
}

is_doc {
    if ($0 ~ /^ *```/) { in_fence = !in_fence; next }
    if (in_fence || $0 ~ /^    /) next
    text = $0
    gsub(/`[^`]*`/, "code", text)      # what is quoted is not prose
    gsub(/\]\([^)]*\)/, "]", text)
    words(text)
    # A line that begins with "Measured" names the date of the table below it.
    if ($0 !~ /(^|, |, m)[Mm]easured/ && $0 ~ /(^|[^0-9-])20[0-9][0-9]-[01][0-9]-[0-3][0-9]([^0-9-]|$)/) report("a date outside docs/lab", $0)
    if (text ~ /(^|[ (])[0-9a-f]*([0-9][a-f]|[a-f][0-9])[0-9a-f]*([ ,.;)]|$)/ && match(text, /(^|[ (])[0-9a-f]+([ ,.;)]|$)/) && RLENGTH >= 9)
        report("a commit hash outside docs/lab", $0)
    # Sentences end at a full stop, a colon before a list, a blank line, a heading or a row of a table.
    if (text ~ /^ *$/ || text ~ /^ *[|#]/ || text ~ /^ *[-*] / || text ~ /^ *[0-9]+\. /) sentence = ""
    if (text !~ /^ *[|#]/) {
        n = split(text, word, /[ \t]+/)
        for (i = 1; i <= n; i++) {
            if (word[i] == "" ) continue
            sentence = sentence " " word[i]
            if (word[i] ~ /[.!?:]["')]*$/) sentence = ""
            else if (split(sentence, w, " ") == 41) report("a sentence of more than 40 words", sentence)
        }
    }
    next
}

{
    line = $0
    if (length(line) > 100 && line ~ /\/\//) report("a comment beyond column 100", line)
    # A type that stands alone on its line was broken there by a trailing comment that is too long.
    if (line ~ /^    +(const |struct |unsigned )*(bool|int|float|double|char|size_t|u?int[0-9]+_t|Sr[A-Za-z0-9]+)( \*+)?$/)
        report("a type alone on its line", line)
    # Text between quotes is no comment.
    bare = line
    gsub(/\\["'\\]/, "", bare)
    gsub(/"[^"]*"/, "\"\"", bare)
    at = index(bare, "//")
    open = index(bare, "/*")
    if (in_block) { text = line; starts = 0; if (index(line, "*/")) in_block = 0 }
    else if (at > 0) {
        text = substr(line, index(line, "//") + 2)
        if (bare ~ /"/) text = substr(bare, at + 2)
        is_alone = bare ~ /^ *\/\//
        starts = !(is_alone && was_comment)
    } else if (open > 0) { text = substr(bare, open + 2); starts = 1; if (!index(bare, "*/")) in_block = 1; is_alone = bare ~ /^ *\/\*/ }
    else { was_comment = 0; next }
    was_comment = 1
    sub(/^ *\* */, "", text)
    gsub(/`[^`]*`/, "code", text)
    if (starts) comment_starts(text)
    words(text)
    names(text)
}

END { exit found }
