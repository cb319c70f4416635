#!/bin/sh
# Prepares a data set for the recipes from archives that you have downloaded: checks them, unpacks them into the layout that
# sslrun reads, and prints the keys to use. It downloads nothing. docs/guide/data.md says where the archives come from.
#
#   configs/prepare_data.sh fashion-mnist FOLDER                       checks the four files of Fashion-MNIST
#   configs/prepare_data.sh cifar10  cifar-10-binary.tar.gz  OUT       OUT/cifar-10-batches-bin
#   configs/prepare_data.sh cifar100 cifar-100-binary.tar.gz OUT       OUT/cifar-100-binary
#   configs/prepare_data.sh imagenet ILSVRC2012_img_train.tar ILSVRC2012_img_val.tar LOC_val_solution.csv OUT
#                                                                      OUT/train/CLASS/*.JPEG, OUT/val/CLASS/*.JPEG
#   --unchecked as the first word accepts archives with other checksums, such as repacked ones.
#
# What is written goes to OUT.partial first: OUT exists only when it is whole. Exit codes: 0 ok, 1 failed, 2 usage or a wrong
# checksum.
set -u
check=yes
[ "${1-}" = --unchecked ] && check=no && shift
usage() { sed -n '5,9p' "$0" >&2; exit 2; }
die() { echo "$0: $1" >&2; exit "${2-1}"; }
checksum() { # FILE MD5
    test -f "$1" || die "there is no file $1; docs/guide/data.md says where to get it" 2
    [ $check = no ] && return
    found=$(md5sum <"$1" | cut -d' ' -f1)
    [ "$found" = "$2" ] || die "$1 has the MD5 checksum $found instead of $2; fetch it again, or give --unchecked first" 2
}
begin() { # OUT: makes OUT.partial
    test ! -e "$1" || die "$1 exists; name a new folder or remove it" 2
    rm -rf "$1.partial"
    mkdir -p "$1.partial" || exit 1
}
unpack() { tar -xf "$1" -C "$2" || die "$1 cannot be unpacked into $2"; }
archive_of() { # ARCHIVE MD5 FOLDER OUT
    checksum "$1" "$2"
    begin "$4"
    unpack "$1" "$4.partial"
    test -d "$4.partial/$3" || die "$1 holds no folder $3; is it the binary version?"
    mv "$4.partial" "$4" || exit 1
    echo "$4/$3 is ready; give any recipe of CIFAR:"
    echo "DATA.TRAIN.DATA_SOURCES=[cifar] DATA.TEST.DATA_SOURCES=[cifar] DATA.TRAIN.DATA_PATHS=[$4/$3] DATA.TEST.DATA_PATHS=[$4/$3]"
}
fashion_mnist() { # FOLDER
    checksum "$1/train-images-idx3-ubyte.gz" cf8536b0aa1a6ac5fa3f23001093305c
    checksum "$1/train-labels-idx1-ubyte.gz" 10bea18fdb374794d4bb42e356e600c9
    checksum "$1/t10k-images-idx3-ubyte.gz" f78720b4224f21cce2f2ccf2d7a94c9a
    checksum "$1/t10k-labels-idx1-ubyte.gz" 0d30e22e447f3c33dab9ed536400ac01
    echo "$1 is ready; give configs/swav.yaml:"
    echo "DATA.TRAIN.DATA_PATHS=[$1]"
}
imagenet() { # TRAIN VAL LABELS OUT
    checksum "$1" 1d675b47d978889d74fa0da5fadfb00e
    checksum "$2" 29b22e2961454d5413ddabcf34fc5622
    test -f "$3" || die "there is no file $3, which names the class of each validation image" 2
    begin "$4"
    part=$4.partial
    mkdir -p "$part/train" "$part/val" "$part/flat" || exit 1
    unpack "$1" "$part/train"
    for class in "$part/train"/*.tar; do
        test -f "$class" || die "$1 holds no archives of classes"
        mkdir -p "${class%.tar}" || exit 1
        unpack "$class" "${class%.tar}"
        rm "$class"
        mkdir -p "$part/val/$(basename "$class" .tar)" || exit 1
    done
    unpack "$2" "$part/flat"
    # A line is "ILSVRC2012_val_00000001,n01751748 111 108 230 366": image, class, boxes.
    tr -d '\r' <"$3" | sed -n 's/^\(ILSVRC2012_val_[0-9]*\),\(n[0-9]*\) .*/\1 \2/p' | while read -r image class; do
        test -d "$part/val/$class" || die "$3 names the class $class, which $1 lacks"
        mv "$part/flat/$image.JPEG" "$part/val/$class/" || exit 1
    done || exit 1
    rmdir "$part/flat" 2>/dev/null || die "$3 names no class for $(ls "$part/flat" | head -n 1)"
    mv "$part" "$4" || exit 1
    echo "$4 is ready; give any recipe of ImageNet:"
    echo "DATA.TRAIN.DATA_PATHS=[$4/train] DATA.TEST.DATA_PATHS=[$4/val]"
}
case "${1-} $#" in
'fashion-mnist 2') fashion_mnist "$2" ;;
'cifar10 3') archive_of "$2" c32a1d4ab5d03f1284b67883e8d87530 cifar-10-batches-bin "$3" ;;
'cifar100 3') archive_of "$2" 03b5dce01913d631647c71ecec9e9cb8 cifar-100-binary "$3" ;;
'imagenet 5') imagenet "$2" "$3" "$4" "$5" ;;
*) usage ;;
esac
