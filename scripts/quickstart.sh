#!/usr/bin/env bash
# Make a private environment, install convexfs, and have a first look: see quickstart.py.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment
exec "$venv/bin/python" "$root/scripts/quickstart.py"
