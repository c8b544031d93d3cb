#!/usr/bin/env bash
# Judges the congestion controller of a crate that `windlass new controller` wrote, on any CI system.
#
#   judge.sh CRATE OUT [OPTION...]    the options of `windlass judge`, such as --suite rfc5681
#
# Builds the crate, and writes into the folder OUT: junit.xml, judge.json, judge.html with a plot of each
# case, and in qlog the packets of those that failed. For each failed case it prints an annotation, which
# GitHub shows beside the file $JUDGE_FILE (default: CRATE/src/lib.rs). The exit status is that of
# `windlass judge`: 1 if a case failed. Needs cargo and jq.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: judge.sh CRATE OUT [OPTION...]" >&2 && exit 2; }
crate=$1 out=$2
shift 2
for program in cargo jq; do
    command -v "$program" >/dev/null || { echo "judge.sh: $program is not installed" >&2 && exit 2; }
done
manifest=$crate/Cargo.toml
mkdir -p "$out"
rm -rf "$out/qlog"
cargo build --release --manifest-path "$manifest" || exit 2

status=0
cargo run --release --quiet --manifest-path "$manifest" -- judge --replay-as "$crate" --json \
    --junit "$out/junit.xml" --page "$out/judge.html" --qlog "$out/qlog" "$@" >"$out/judge.json" || status=$?
[ "$status" -le 1 ] || exit "$status"

# Escaped as GitHub's runner reads it.
jq -r --arg file "${JUDGE_FILE:-$crate/src/lib.rs}" '
    def data: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
    def property: data | gsub(":"; "%3A") | gsub(","; "%2C");
    .suites[].cases[] | select(.outcome == "failed")
    | "\(.document) \(.section) (\(.level))" as $clause
    | "\(.case): \(.reason). Demanded: \(.demanded). Replay: \(.replay)" as $text
    | "::error file=\($file | property),title=\($clause | property)::\($text | data)"' "$out/judge.json"
jq -r '"\(.subject): \(.passed) passed, \(.failed) failed, \(.not_observable) not observable"' "$out/judge.json"
exit "$status"
