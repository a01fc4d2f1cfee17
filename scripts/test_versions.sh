#!/usr/bin/env bash
# Tests in other surroundings than the usual one: the oldest allowed versions and the newest,
# without each extra, without ECOS, with spawned workers, on other Pythons where there are any.
#
#   bash scripts/test_versions.sh                          # every setting, the tests of tests_of
#   bash scripts/test_versions.sh oldest spawn -- tests    # two settings; after -- words of pytest
#
# Each setting has an environment of its own, made anew, and a log beside it: see $cache. At the
# end each is told in a line, then how to go on with those that failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/convexfs/versions"
all=(
  oldest newest core no-ecos no-solvers no-dask no-mpi no-nlp no-tables spawn
  python3.12 python3.13 python3.14
)
extras=(solvers dask mpi nlp tables)
smoke=(
  tests/methods/relief/test_estimator.py tests/methods/logo/test_estimator.py
  tests/methods/lfe/test_estimator.py tests/solving/test_solve.py
  tests/cli/test_main.py tests/cli/test_select.py tests/test_release.py
)
wide=(
  tests/methods/relief tests/methods/logo tests/methods/lfe tests/solving/test_solve.py
  tests/certification/test_certify.py tests/data tests/batch tests/cli tests/test_release.py
)
of_solvers=(tests/solving/test_backends.py tests/study/test_plan.py tests/cli/test_compare.py)
of_executors=(
  tests/batch/workers/test_executors.py tests/data/test_dask_columns.py tests/methods/llfs/test_tasks.py
)
of_nlp=(tests/methods/llfs/test_problem.py)
of_tables=(tests/data tests/estimators/test_out_of_core.py tests/cli/test_select_files.py)

tests_of() {
  # Versions change anything; a missing extra what uses it, and whether the rest still loads.
  local tests
  case $1 in
    oldest | newest | no-ecos | python*) tests=("${wide[@]}") ;;
    spawn) tests=(tests/batch) ;;
    core) tests=(
      "${smoke[@]}" "${of_solvers[@]}" "${of_executors[@]}" "${of_nlp[@]}" "${of_tables[@]}"
    ) ;;
    no-solvers) tests=("${smoke[@]}" "${of_solvers[@]}") ;;
    no-dask | no-mpi) tests=("${smoke[@]}" "${of_executors[@]}") ;;
    no-nlp) tests=("${smoke[@]}" "${of_nlp[@]}") ;;
    no-tables) tests=("${smoke[@]}" "${of_tables[@]}") ;;
  esac
  echo "${tests[@]}"
}

find_uv() {
  # It alone resolves to the oldest versions; one of its own leaves yours as it is.
  if [ ! -x "$cache/tools/bin/uv" ]; then
    "$(find_python)" -m venv "$cache/tools"
    "$cache/tools/bin/python" -m pip install --quiet --disable-pip-version-check uv
  fi
  uv="$cache/tools/bin/uv"
}

python_of() {
  case $1 in
    python*) find_version "$1" || true ;;
    *) find_version python3.11 || find_python ;; # the oldest, like the oldest packages
  esac
}

find_version() {
  # On the path, where one of pyenv's may be a name without a program, or among pyenv's own.
  local candidate
  for candidate in "$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/${1#python}".*/bin/"$1"; do
    if is_new_enough "$candidate"; then echo "$candidate" && return; fi
  done
  return 1
}

extras_of() {
  local kept=(dev) extra
  for extra in "${extras[@]}"; do
    if [ "$1" != core ] && [ "$1" != "no-$extra" ]; then kept+=("$extra"); fi
  done
  (IFS=, && echo "${kept[*]}")
}

make_environment() {
  local setting=$1 python=$2 home="$cache/$1" resolution=highest
  if [ "$setting" = oldest ]; then resolution=lowest-direct; fi
  "$uv" venv --quiet --clear --python "$python" "$home" &&
    "$uv" pip install --quiet --python "$home" --only-binary :all: --no-binary convexfs \
      --resolution "$resolution" --editable "${root}[$(extras_of "$setting")]" || return 1
  if [ "$setting" = no-ecos ]; then "$uv" pip uninstall --quiet --python "$home" ecos; fi
}

test_in() {
  local setting=$1 start="" tests=("${@:2}")
  if [ "$setting" = spawn ]; then start=spawn; fi
  if [ ${#tests[@]} = 0 ]; then read -ra tests <<<"$(tests_of "$setting")"; fi
  CONVEXFS_START=$start NUMBA_CACHE_DIR="$cache/numba" OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 "$cache/$setting/bin/python" -m pytest -q \
    --continue-on-collection-errors "${tests[@]}"
}

settings=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do settings+=("$1") && shift; done
if [ ${#settings[@]} = 0 ]; then settings=("${all[@]}"); fi
for setting in "${settings[@]}"; do
  case " ${all[*]} " in *" $setting "*) ;; *)
    echo "There is no setting $setting; there are ${all[*]}." >&2
    exit 2
    ;;
  esac
done

find_uv
cd "$root"
rm -rf "$cache/numba" # what one setting compiles others of its versions share, but no older source
told=("== All of them") failed=() absent=()
for setting in "${settings[@]}"; do
  python=$(python_of "$setting")
  if [ -z "$python" ]; then absent+=("$setting") && continue; fi
  echo "== $setting"
  { make_environment "$setting" "$python" && test_in "$setting" "${@:2}"; } 2>&1 |
    tee "$cache/$setting.log" || failed+=("$setting")
  told+=("$setting: $(tail -n 1 "$cache/$setting.log")")
done
printf '%s\n' "${told[@]}"
if [ ${#absent[@]} -gt 0 ]; then echo "Not on this machine, so not tested: ${absent[*]}"; fi
if [ ${#failed[@]} -gt 0 ]; then
  echo "Failed; once mended: bash scripts/test_versions.sh ${failed[*]}" && exit 1
fi
echo "Passed."
