#!/usr/bin/env bash
# Installs tcnum and its Python package as the pages say, and uses both as somebody does who has nothing else of this
# tree: no variable but PATH is set, the prefix has moved, and where the machine permits it the tree is hidden.
#   tests/install/check.sh SOURCE BUILD SHARED PYTHON      SHARED: ON or OFF
set -euo pipefail

fail() {
  echo "check.sh: $*" >&2
  exit 1
}

# Runs a command with PATH and the variables before it alone: bare [NAME=VALUE…] COMMAND…
bare() { env -i PATH="$PATH" "$@"; }

# Installs into $work/prefix, and the Python package into $work/python.
install_all() {
  local source=$1 build=$2 shared=$3 python=$4 message
  # A build folder in which nothing is built: refused in one line that names the command, and nothing is written.
  bare cmake -S "$source" -B "$work/unbuilt" -G Ninja -D TCNUM_TESTS=OFF >/dev/null
  if message=$(bare cmake --install "$work/unbuilt" --prefix "$work/half" 2>&1); then fail "an empty build was installed"; fi
  [[ $message == *"is not built; expected "*"/run install FOLDER"* ]] || fail "an empty build: $message"
  [[ ! -e $work/half ]] || fail "half a prefix is left: $(find "$work/half")"

  if [[ -n ${TCNUM_RUN:-} ]]; then  # set by `./run test`; elsewhere ./run would configure the build anew
    bare "$TCNUM_RUN" install "$work/first"
  else
    bare cmake --build "$build" --target tcnum_installation
    bare cmake --install "$build" --prefix "$work/first" >/dev/null
  fi
  # pip uses the library of this build folder.
  if [[ $shared == ON && $build == "$source/build" ]] && "$python" -c 'import numpy, pip'; then
    bare "$python" -m pip install --quiet --no-index --no-deps --target "$work/python" "$source/python"
  fi
  mv "$work/first" "$work/prefix"
}

# What is installed beside programs and libraries is what is promised, and no more.
check_files() {
  local source=$1
  diff -r "$source/docs/schemas" "$work/prefix/share/tcnum/schemas"
  diff -r "$source/include/tcnum" "$work/prefix/include/tcnum"
  cp -r "$source/tests/install" "$work/project"
  cp "$source/tests/c/example.c" "$source/tests/c/example.txt" "$source/docs/datapaths/hopper-fp16.json" "$work/project"
}

# Uses what is installed.
use() {
  local shared=$1 python=$2
  local prefix=$work/prefix instruction=mma.m16n8k16.f32.f16.f16.f32
  local answers=$prefix/share/tcnum/vectors/sm_90/mma.m8n8k4.f32.f16.f16.f16.safetensors
  local libraries
  libraries=$(dirname "$(find "$prefix" -name libtcnum_core.a)")
  cd "$work/project"
  bare "$prefix/bin/tcnum" verify --arch sm_90 --instr "$instruction"
  bare "$prefix/bin/tcnum" model gemm --m 4096 --n 4096 --k 4096 >/dev/null
  # A library of another package that is put into the folder goes before the system's.
  cp "$(ldd "$prefix/bin/tcnum" | awk '$1 ~ /^libhwy/ { print $3 }')" "$libraries"
  [[ $(bare ldd "$prefix/bin/tcnum") == *" => $prefix/bin/../"* ]] || fail "libraries in the folder are not found"

  bare cmake -S . -B build -G Ninja -D "CMAKE_PREFIX_PATH=$prefix" >/dev/null
  bare cmake --build build
  bare build/uses_core
  bare build/uses_emu hopper-fp16.json
  [[ $shared == ON ]] || return 0

  bare build/uses_c "$answers" | diff example.txt -
  # By pkg-config, with the library named to the linker once, and to the loader once (docs/c.md).
  local flags
  flags=$(bare "PKG_CONFIG_PATH=$libraries/pkgconfig" pkg-config --cflags --libs tcnum)
  # Word splitting is meant: one word, one flag.
  # shellcheck disable=SC2086
  bare cc -std=c99 -Wall -Wextra -pedantic -Werror example.c $flags -o plain
  bare "LD_LIBRARY_PATH=$libraries" ./plain "$answers" | diff example.txt -
  # shellcheck disable=SC2086
  bare cc -std=c99 example.c $flags "-Wl,-rpath,$(bare "PKG_CONFIG_PATH=$libraries/pkgconfig" pkg-config --variable=libdir tcnum)" -o with_rpath
  bare ./with_rpath "$answers" | diff example.txt -

  if [[ -d $work/python ]]; then
    bare "PYTHONPATH=$work/python" "$python" -c '
import numpy, tcnum
one = numpy.ones((1, 1), numpy.float16)
assert tcnum.matmul(one, one, arch="sm_90") == [[1]]'
  fi
}

if [[ $1 == --use ]]; then
  work=$2
  shift 2
  use "$@"
  exit
fi
source=$1 build=$2 shared=$3 python=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
install_all "$source" "$build" "$shared" "$python"
check_files "$source"
cp "${BASH_SOURCE[0]}" "$work/check.sh"
if unshare --map-root-user --mount true 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare --map-root-user --mount bash -c 'mount -t tmpfs none "$1" && shift && exec "$@"' hide "$source" \
    bash "$work/check.sh" --use "$work" "$shared" "$python"
else
  echo "check.sh: this machine does not permit the source tree to be hidden"
  bash "$work/check.sh" --use "$work" "$shared" "$python"
fi
