# A fair environment for comparisons with PyTorch, and one line if the peer is missing. Scripts source this file.
#
# need_peer MODULE ... ends the script with 2 and prints the command that installs the modules if python3 lacks one.
# Debian's OpenBLAS 0.3.21 takes its Prescott kernels on processors that it does not know. peer_blas then chooses the
# kernels of the processor's widest instruction set, since PyTorch would otherwise look several times slower than it is. A
# variable that is already set stays, and a line says so.

need_peer() {
    for module; do
        /usr/bin/python3 -c "import $module" 2>/dev/null && continue
        echo "$0: python3 has no module $module; install the peers: apt-get install python3-torch python3-torchvision python3-sklearn" >&2
        exit 2
    done
}

peer_blas() {
    if [ -n "${OPENBLAS_CORETYPE-}" ]; then
        echo "$0: OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE is set, and both sides take it" >&2
        return
    fi
    OPENBLAS_VERBOSE=2 ./sslrun --version 2>&1 | grep -q 'Core: Prescott' || return 0
    if grep -qw avx512bw /proc/cpuinfo; then OPENBLAS_CORETYPE=SkylakeX
    elif grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then OPENBLAS_CORETYPE=Haswell
    else return 0
    fi
    export OPENBLAS_CORETYPE
    echo "$0: OpenBLAS does not know this processor; both sides run with OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE" >&2
}

# processor prints the name of the processor, the generation of AMD's (virtual machines call all of them "AMD EPYC"), and
# the widest instruction set.
processor() {
    awk -F': *' '
        /^cpu family/ && !family { family = $2 } /^model[ \t]*:/ && !model { model = $2 } /^model name/ && !name { name = $2 }
        /^flags/ && !flags { flags = " " $2 " " }
        END {
            zen = family == 26 ? "Zen 5" : family == 25 && (model < 16 || (model >= 32 && model < 96)) ? "Zen 3" : \
                family == 25 ? "Zen 4" : family == 23 ? (model < 48 ? "Zen" : "Zen 2") : ""
            set = flags ~ / amx_tile / ? "AMX" : flags ~ / avx512bw / ? "AVX-512" : flags ~ / avx2 / ? "AVX2" : "SSE"
            print name " (" (name ~ /AMD/ && zen != "" ? zen ", " : "") set ")"
        }' /proc/cpuinfo
}

# median prints the median of the numbers on its input, one per line.
median() { sort -n | awk '{a[NR]=$1} END {print NR%2 ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }
