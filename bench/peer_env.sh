# A fair environment for comparisons with PyTorch, and one line if the peer is missing. Scripts source this file.
#
# need_peer MODULE ... ends the script with 2 and prints the command that installs the modules if python3 lacks one.
# Debian's OpenBLAS 0.3.21 takes its Prescott kernels on processors that it does not know. peer_blas then chooses the
# kernels of the processor's widest instruction set, since PyTorch would otherwise look several times slower than it is.

need_peer() {
    for module; do
        /usr/bin/python3 -c "import $module" 2>/dev/null && continue
        echo "$0: python3 has no module $module; install the peers: apt-get install python3-torch python3-torchvision python3-sklearn" >&2
        exit 2
    done
}

peer_blas() {
    test -n "${OPENBLAS_CORETYPE-}" && return
    OPENBLAS_VERBOSE=2 ./sslrun --version 2>&1 | grep -q 'Core: Prescott' || return 0
    if grep -qw avx512bw /proc/cpuinfo; then OPENBLAS_CORETYPE=SkylakeX
    elif grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then OPENBLAS_CORETYPE=Haswell
    else return 0
    fi
    export OPENBLAS_CORETYPE
    echo "$0: OpenBLAS does not know this processor; both sides run with OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE" >&2
}

processor() { sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1; }
