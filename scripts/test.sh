#!/usr/bin/env bash
# Lint, types and tests, in a private environment. Without --all, tests that are slow, open a
# browser or need a cluster are left out. Other arguments go to pytest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
tier="not slow and not browser and not cluster"
if [ "${1:-}" = --all ]; then tier="" && shift; fi
ensure_environment dev,solvers,dask,mpi,nlp,tables
[ -n "$tier" ] || ensure_browser
cd "$root"

# One cache for each state of the kernels, so that none of an older source is tested.
state=$(grep -rlE --include=*.py "kernels? import|numba" convexfs | sort | xargs cat | cksum)
export NUMBA_CACHE_DIR="$venv/kernels-${state%% *}" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
[ -d "$NUMBA_CACHE_DIR" ] || rm -rf "$venv"/kernels-*
bin="$venv/bin"
# The tests start over a hundred processes, so bytecode is kept.
unset PYTHONDONTWRITEBYTECODE

echo "== lint" && "$bin/ruff" check . && "$bin/ruff" format --check .

# Pyright occupies one core, so the tests do not wait for it. With a process group of its own it
# can be stopped as a whole.
report=$(mktemp)
set -m
"$bin/pyright" --project "$root/pyproject.toml" --pythonpath "$bin/python" >"$report" 2>&1 &
types=$!
set +m
trap 'kill -- "-$types" 2>/dev/null || true; rm -f "$report"' EXIT

# Neighbouring tests share fixtures and kernels, so each worker takes one half of them.
failed=0
echo "== tests" && "$bin/python" -m pytest -n 2 --dist worksteal -m "$tier" "$@" || failed=$?
echo "== types" && wait "$types" || failed=$?
cat "$report"
exit "$failed"
