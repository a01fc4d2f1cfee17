# Sourced by the other scripts: a private environment in .venv, made once.
# Usage: ensure_environment [extras], then run things with "$venv/bin/python".

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  # 3.12 and 3.11 first: ECOS has no wheels for later ones.
  local candidate
  for candidate in ${PYTHON:-} python3.12 python3.11 python3 python3.13 python3.14 python; do
    if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  {
    echo "convexfs needs Python 3.11 or newer, and none was found."
    for candidate in ${PYTHON:-} python3 python; do
      command -v "$candidate" >/dev/null && echo "  found $candidate: $("$candidate" --version 2>&1), too old"
    done
    echo "Install it (Debian: apt install python3 python3-venv), or set PYTHON=/path/to/python3.11."
  } >&2
  return 1
}

make_venv() {
  local python
  python=$(find_python) || return 1
  if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "$("$python" --version) lacks its venv module. Debian: apt install python3-venv" >&2
    return 1
  fi
  echo "Making a private environment in $venv with $("$python" --version)" >&2
  rm -rf "$venv"
  "$python" -m venv "$venv"
}

ensure_browser() {
  # Chromium opens the report's page in the tests, which are skipped without one. It is
  # installed for a machine that tests by itself (CI), and for people who ask for it.
  command -v chromium >/dev/null && return
  if [ -n "${CI:-}${INSTALL_CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing chromium" >&2
    if apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
      apt-get -qq install --yes --no-install-recommends chromium >/dev/null; then return; fi
  fi
  echo "No chromium was found, so no page is opened. Debian: apt install chromium, or as root" \
    "INSTALL_CHROMIUM=1 bash scripts/test.sh" >&2
}

install_convexfs() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --editable "$root${1:+[$1]}" "${@:2}"
}

ensure_environment() {
  local extras=${1:-} stamp made_of lock=""
  # A machine that tests by itself installs the versions that were tested before.
  if [ -n "${CI:-}" ]; then lock="$root/.github/lock.txt"; fi
  stamp="$venv/.installed-${extras:-core}"
  made_of="$root $(cat "$root/pyproject.toml" ${lock:+"$lock"} | cksum)"
  if ! is_new_enough "$venv/bin/python"; then make_venv || return 1; fi
  # An editable install goes stale only when the metadata changes, or the folder moves.
  if [ "$(cat "$stamp" 2>/dev/null)" != "$made_of" ]; then
    echo "Installing convexfs${extras:+ with $extras} (the first time takes a minute or two)" >&2
    install_convexfs "$extras" ${lock:+--constraint "$lock"} || {
      echo "Installation failed; the lines above say why. Run the same command to try again." >&2
      return 1
    }
    echo "$made_of" >"$stamp"
  fi
}
