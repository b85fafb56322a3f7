# SPDX-License-Identifier: MIT
#
# Test output of the shell tests: TAP on stdout, reasons in `# ` lines before the verdict.
# To be sourced.
#
#   tap_check NAME "$reasons"    ok if there are no reasons, one a line
#   tap_skip NAME REASON [TESTS] so many that cannot be made here, 1 unless said: neither
#                                passed nor failed
#   tap_note TEXT                a line that explains the result before or after it
#   tap_done                     the plan; its status is 1 if something failed

tap_count=0
tap_failed=0

tap_note()
{
    sed 's/^/# /' <<< "$1"
}

tap_check()
{
    tap_count=$((tap_count + 1))
    if [ -z "$2" ]; then
        echo "ok $tap_count - $1"
    else
        tap_failed=$((tap_failed + 1))
        tap_note "$2"
        echo "not ok $tap_count - $1"
    fi
}

tap_skip()
{
    local i

    for i in $(seq "${3:-1}"); do
        tap_count=$((tap_count + 1))
        echo "ok $tap_count - $1$([ "${3:-1}" = 1 ] || echo "_$i") # SKIP $2"
    done
}

tap_done()
{
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ] && [ "$tap_count" -gt 0 ]
}
