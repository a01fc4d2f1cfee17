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

echo "== lint" && "$bin/ruff" check . && "$bin/ruff" format --check .
echo "== types" && "$bin/pyright" --project "$root/pyproject.toml" --pythonpath "$bin/python"
echo "== tests" && "$bin/python" -m pytest -n 2 -m "$tier" "$@"
