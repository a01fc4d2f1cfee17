#!/usr/bin/env bash
# Lint, types and tests, in a private environment. Arguments go to pytest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment dev,solvers,dask,mpi,nlp,tables
ensure_browser
cd "$root"

# An empty cache, so that no compiled kernel of an older source is tested.
NUMBA_CACHE_DIR=$(mktemp -d)
trap 'rm -rf "$NUMBA_CACHE_DIR"' EXIT
export NUMBA_CACHE_DIR OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
bin="$venv/bin"

echo "== lint" && "$bin/ruff" check . && "$bin/ruff" format --check .
echo "== types" && "$bin/pyright" --project "$root/pyproject.toml" --pythonpath "$bin/python"
echo "== tests" && "$bin/python" -m pytest -n 2 "$@"
