#!/usr/bin/env bash
# Builds and runs the tests with another LibTorch:  other_torch.sh VERSION
# Exit code 77 (skipped) if that version is not installed: ISINGLASS_TORCH=VERSION scripts/setup.sh
# installs it (5 GB).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if [[ ! -d $root/.venv-$1 ]]; then
  echo "there is no .venv-$1: ISINGLASS_TORCH=$1 scripts/setup.sh makes it" >&2
  exit 77
fi
ISINGLASS_TORCH=$1 exec "$root/scripts/test.sh"
