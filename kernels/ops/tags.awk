# SPDX-License-Identifier: MIT
#
# awk -f kernels/ops/tags.awk NAME.tile...    comments at the front of tile programs whose first
# word is one letter off what kernels/ops/ops.h takes, or that have options and are no case: a
# line FILE:LINE: and exit status 1. What is misspelt would be a remark for readers.

# Whether b is a, but for a letter more, less or another, or two that are swapped.
function near(a, b,    i, x, y) {
    for (i = 1; i <= length(a) && substr(a, i, 1) == substr(b, i, 1); i++) { }
    x = substr(a, i + 1)
    y = substr(b, i + 1)
    return x == y || x == substr(b, i) || substr(a, i) == y ||
        substr(a, i, 2) == substr(b, i + 1, 1) substr(b, i, 1) &&
        substr(x, 2) == substr(y, 2)
}

FNR == 1 { front = 1 }
!/^#/ { front = 0 }
front && FNR > 1 {
    text = $0
    sub(/^# ?/, "", text)
    word = text
    sub(/[ :=].*/, "", word)
    if ($0 ~ /^# (case|numpy|ulps|axis) [^ ]/) {
        next
    }
    meant = text ~ /(^| )--[a-z]/ ? "case" : ""
    for (n = split("case numpy ulps axis", tags, " "); n > 0; n--) {
        meant = near(tolower(word), tags[n]) ? tags[n] : meant
    }
    if (meant != "") {
        print FILENAME ":" FNR ": '" $0 "': '# " meant " ...' is meant?"
        bad = 1
    }
}
END { exit bad }
