#!/bin/sh
# Fails on any include that points to the right in
#     base kernels graph measure {trunks heads losses} trainer cli          data and formats stand on base
# or, inside trainer, in
#     config schedules optim model run eval bench
# on files that include each other in a circle, and on a type that is defined twice.
cd "$(dirname "$0")/.." || exit 1
bad=0
allow() { # folder, then the folders it may include
    here=$1; shift
    for f in $(find "$here" -name '*.[ch]'); do
        for inc in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$f"); do
            there=${inc%%/*}
            case " $here gen sslrun.h $* " in *" $there "*) ;; *) echo "$f includes $inc"; bad=1 ;; esac
        done
    done
}
allow base
allow kernels base formats
allow measure base kernels
allow graph base kernels
allow trunks base kernels graph
allow heads base kernels graph
allow losses base kernels graph measure
allow data base
allow formats base
allow trainer base kernels graph measure trunks heads losses data formats
allow cli base kernels graph measure trunks heads losses data formats trainer
[ $bad = 0 ] && echo "layers: ok"
exit $bad
