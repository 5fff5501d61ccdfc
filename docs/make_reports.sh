#!/usr/bin/env bash
# Makes the full report of each recorded device, as Markdown.
#   docs/make_reports.sh [FOLDER]     (default: reports/, which git ignores)
set -euo pipefail
folder=$(realpath -m -- "${1:-$(dirname "${BASH_SOURCE[0]}")/../reports}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "$folder"
for device in h200 h100; do
  ./run bench report --device "$device" --markdown "$folder/$device.md"
done
echo "$folder"
