# shellcheck shell=bash
# Part of scripts/verify-packages: the crates as a registry would have them.

# Unpacks all crates that a release publishes, and writes a [patch] that takes them.
unpack_crates() {
    local crate name
    cargo package --quiet --workspace --no-verify --locked --exclude windlass-python --exclude windlass-testbed \
        --target-dir "$work/packaged" 2>"$work/package.log" || die "$(cat "$work/package.log")"
    mkdir "$work/crates"
    echo '[patch.crates-io]' >"$work/patch.toml"
    for crate in "$work"/packaged/package/*.crate; do
        tar -xf "$crate" -C "$work/crates"
        name=$(basename "$crate" "-$version.crate")
        echo "$name = { path = \"$work/crates/$name-$version\" }" >>"$work/patch.toml"
    done
}

# CLANG names a program that does not exist: the objects in the crates must do.
verify_crates() {
    local rate
    unpack_crates
    export CARGO_TARGET_DIR=$work/built CARGO_PROFILE_DEV_DEBUG=none CLANG=/nonexistent/clang
    cp -r tests/packages/consumer "$work/consumer"
    say "building the consumer"
    rate=$(cd "$work/consumer" && cargo run --quiet --config "$work/patch.toml") || die "the consumer does not build"
    [ "${rate% packets/s}" -gt 700 ] || die "the consumer prints $rate"
    say "cargo install without clang"
    (cd "$work" && cargo install --quiet --debug --config "$work/patch.toml" --path "$work/crates/windlass-$version" \
        --root "$work/installed") || die "cargo install windlass"
    "$work/installed/bin/windlass" sim run experiments/new-ecn/s1_10M_p0.1_newecn.toml | grep -q 'fairness index' ||
        die "the installed command"
    [ "$("$work/installed/bin/windlass" --version)" = "windlass $version" ] || die "the version of the installed command"
    # It contains the objects that the crate brought.
    "$work/installed/bin/windlass" ecn-proxy --help >"$work/help" || die "no ecn-proxy in the installed command"
    unset CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG CLANG
}
