# shellcheck shell=bash
# Functions shared by the scripts. Usage: `source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"`.

# The root of the repository.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

say() { printf '\n== %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# as_root COMMAND…: runs a command as root, with sudo if necessary.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n "$@" || fail "cannot run as root: $*"
  else
    fail "needs root or sudo for: $*"
  fi
}

# need_debian PACKAGE…: installs missing packages.
need_debian() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null || fail "install these first: ${missing[*]}"
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# need_python PACKAGE[==VERSION]…: creates .venv, installs missing packages there, sets $python and adds the programs to
# PATH.
need_python() {
  need_debian python3 python3-venv
  local venv="$root/.venv" package missing=()
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  python="$venv/bin/python"
  export PATH="$venv/bin:$PATH"
  for package in "$@"; do
    "$python" - "$package" <<'PYTHON' || missing+=("$package")
import importlib.metadata, sys
name, _, wanted = sys.argv[1].partition("==")
try:
    sys.exit(wanted not in ("", importlib.metadata.version(name)))
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)
PYTHON
  done
  [ ${#missing[@]} = 0 ] && return
  say "installing ${missing[*]}"
  "$python" -m pip install --quiet --disable-pip-version-check "${missing[@]}"
}

# need_protos: supplies the protos that protos/ imports to protoc and buf, and sets $imported to their folders.
need_protos() {
  need_python googleapis-common-protos protovalidate
  mapfile -t imported < <("$python" "$root/scripts/lib/protos.py" "$root")
  [ ${#imported[@]} = 2 ] || fail "cannot supply the imported protos"
}

# swift_run COMMAND [OPTIONS…]: runs a command of SwiftPM. SwiftPM gives the traits of a package to the compiler in the
# order of a hash table, and compiles everything again if that order has changed since the last build. ccache keeps
# the results of the C compiler for other clones of the repository.
swift_run() {
  SWIFT_DETERMINISTIC_HASHING=1 CC="$root/scripts/lib/cc" CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 swift "$@"
}

# swift_build [OPTIONS…]: builds in debug mode.
swift_build() { swift_run build "$@"; }

# debug_build: builds everything in debug mode, with all tests, and the package in Examples. The output is in
# .build/test-build.log.
debug_build() {
  mkdir -p "$root/.build"
  # Ignored files that a killed run of Tests/SuiteTests/test_examples.py left there: the build would use them.
  rm -rf "$root/Examples/chat/"{added.proto,campanile-generator.json,Generated}
  (cd "$root" && swift_build --build-tests && swift_build --build-tests --package-path Examples) >"$root/.build/test-build.log" 2>&1
}

# build_libraries: builds the public libraries in debug mode.
build_libraries() {
  local library
  for library in CampanileAPI CampanileIntegrations CampanileServer CampanileTesting; do swift_build --quiet --target "$library"; done
}

# module_flags FOLDER: sets $modules to the options by which Swift's tools load the libraries of a package in a folder,
# built in debug mode, and $target to the machine's target. The libraries' modules load C modules.
module_flags() {
  local bin="$1/.build/debug" file
  modules=(-I "$bin/Modules")
  while read -r file; do modules+=(-Xcc "-fmodule-map-file=$file"); done < <(
    find "$1"/Sources/C* "$bin"/*.build "$1"/.build/checkouts/*/Sources/*/include -maxdepth 2 -name '*.modulemap' -print0 |
      xargs -0 grep -L 'Swift\.h')
  # shellcheck disable=SC2034 # used by the scripts
  target="$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')"
}

# release_build [OPTIONS…]: builds the suite in .build-release with the flags of a deployment (docs/decisions/0010).
release_flags=(-c release -Xswiftc -enforce-exclusivity=unchecked --static-swift-stdlib)
release_build() { (cd "$root" && swift_run build "${release_flags[@]}" --scratch-path .build-release "$@"); }

# link_programs FOLDER: gives campanile-suite in a build folder the names of its programs, by which tests start them.
link_programs() {
  local name
  [ -x "$1/campanile-suite" ] || fail "$1 has no campanile-suite"
  while read -r name; do
    [ "$(readlink "$1/$name")" = campanile-suite ] || ln -sfn campanile-suite "$1/$name"
  done < <(sed -n 's/.*executable: "\(campanile-[a-z-]*\)".*/\1/p' "$root/Sources/CampanileCLI/Suite/SuiteMember.swift"; echo campanile)
}

# release_suite: builds the suite in release mode, puts it into a folder with its resources and the names of its
# programs, as in the image, and sets $suite. A single product takes half the time: there is one build to plan.
release_suite() {
  release_build --product campanile-suite >&2
  local built
  built="$(release_build --show-bin-path)"
  suite="$root/.build-release/suite"
  mkdir -p "$suite"
  # A hard link, because the programs look for one another in the folder of the file itself.
  ln -f "$built/campanile-suite" "$suite/campanile-suite"
  rm -rf "$suite/campanile_CampanileCLI.resources"
  cp -r "$built/campanile_CampanileCLI.resources" "$suite/"
  link_programs "$suite"
}

# need_swift: installs the build dependencies and pins the packages.
need_swift() {
  command -v swift >/dev/null || fail "needs Swift 6.2 or newer in PATH: https://www.swift.org/install"
  need_debian ccache libpq-dev libsqlite3-dev libssl-dev zlib1g-dev
  # Without this, SwiftPM would resolve newer versions of transitive dependencies.
  [ "$root/Package.resolved" -nt "$root/scripts/dependencies.lock" ] || "$root/scripts/dependencies" --pin
}
