# shellcheck shell=bash
# Parts of scripts/verify-packages: the Debian packages alone.

all_three=(windlass libtou1 libtou-dev)

# The files of the three packages, as a root sees them.
debs() {
    local name
    for name in "${all_three[@]}"; do
        [ -f "$packages/${name}_${version}_amd64.deb" ] || die "$packages has no ${name}_${version}_amd64.deb"
        echo "/packages/${name}_${version}_amd64.deb"
    done
}

# shellcheck disable=SC2046
verify_debian() {
    local before after
    lintian --allow-root --fail-on=error,warning "$packages"/*.deb || die "lintian complains"
    unpack_root
    before=$work/before after=$work/after
    files_of_root >"$before"
    in_root apt-get update -qq
    in_root apt-get install -qq -y --no-install-recommends $(debs) >/dev/null
    use_packages
    printf '%s\n' /etc/windlass/ecn-proxy.toml >"$work/conffiles"
    in_root dpkg-query -W -f '${Conffiles}\n' "${all_three[@]}" | sed -n 's/^ \([^ ]*\) .*/\1/p' |
        diff "$work/conffiles" - || die "other conffiles than expected"
    in_root apt-get purge -qq -y "${all_three[@]}" >/dev/null
    in_root apt-get autoremove --purge -qq -y >/dev/null
    files_of_root >"$after"
    diff "$before" "$after" || die "the purged packages leave these traces (>)"
    say "after the purge: the same $(wc -l <"$after") entries as before"
}

# Uses the installed programs and libraries in the root.
use_packages() {
    in_root windlass sim run "$sim_example" | grep -q 'fairness index' || die "no result of the simulator"
    in_root windlass --version | grep -q "^windlass $version ([0-9a-f]\{12,\})$" || die "the version names no commit"
    in_root windlass doctor simulator || die "windlass doctor finds fault with the simulator"
    in_root windlass doctor >"$work/doctor" || [ $? = 1 ] || die "windlass doctor"
    in_root systemd-analyze verify /lib/systemd/system/windlass-{ecn-proxy,tou-expose,tou-rendezvous}.service ||
        die "systemd-analyze complains"
    [ -f "$root/usr/share/man/man1/windlass-sim-run.1.gz" ] || die "no man page"
    use_libtou
}

# Compiles one of the examples by pkg-config, shared and static, and sends a file over loopback.
use_libtou() {
    cp crates/libtou/examples/file_transfer.c tests/packages/transfer.sh "$root/tmp"
    in_root sh -ec 'cd /tmp
        cc -Wall -Werror file_transfer.c -o shared $(pkg-config --cflags --libs tou)
        cc file_transfer.c -o static $(pkg-config --cflags tou) -Wl,-Bstatic -ltou -Wl,-Bdynamic \
            $(pkg-config --static --libs tou | sed "s/.*-ltou//")
        sh transfer.sh ./shared && sh transfer.sh ./static' || die "libtou"
    rm -r "$root"/tmp/*
}

next_version() { echo "$version" | awk -F. '{ print $1 "." $2 "." $3 + 1 }'; }

# The packages once more, as the next version, which also changes the shipped configuration.
pack_next_version() {
    local next deb
    next=$(next_version)
    BUILT=$1 VERSION=$next scripts/package-debian "$2" >/dev/null
    deb=$2/windlass_${next}_amd64.deb
    dpkg-deb -R "$deb" "$work/next"
    echo '# A line that the next version adds.' >>"$work/next/etc/windlass/ecn-proxy.toml"
    dpkg-deb --root-owner-group -b "$work/next" "$deb" >/dev/null
}

# The binaries that the packages contain, to pack them again.
built_of_packages() {
    dpkg-deb -x "$packages/windlass_${version}_amd64.deb" "$work/unpacked"
    dpkg-deb -x "$packages/libtou1_${version}_amd64.deb" "$work/unpacked"
    dpkg-deb -x "$packages/libtou-dev_${version}_amd64.deb" "$work/unpacked"
    mkdir -p "$1"
    cp "$work/unpacked/usr/bin/windlass" "$1"
    cp "$work"/unpacked/usr/lib/*/libtou.so.1 "$1/libtou.so"
    cp "$work"/unpacked/usr/lib/*/libtou.a "$1"
}

verify_upgrade() {
    local conffile=/etc/windlass/ecn-proxy.toml unit=windlass-ecn-proxy before
    built_of_packages "$work/built"
    unpack_root
    mkdir "$root/next"
    pack_next_version "$work/built" "$root/next"
    # shellcheck disable=SC2046
    in_root apt-get update -qq && in_root apt-get install -qq -y --no-install-recommends $(debs) >/dev/null
    umount "$root/packages"
    boot_machine
    ! in_machine systemctl is-enabled --quiet $unit || die "the package enables $unit"
    in_machine ip link add lan0 type veth peer name lan1
    in_machine ip link set lan0 up
    in_machine sed -i 's/^client_side = .*/client_side = ["lan0"] # edited/' $conffile
    in_machine systemctl start $unit || {
        in_machine journalctl --no-pager --unit $unit >&2
        die "$unit does not start"
    }
    before=$(in_machine systemctl show --property MainPID,ExecMainStartTimestampMonotonic,NRestarts $unit)
    in_machine sh -c 'dpkg --install --force-confold /next/*.deb' >"$work/upgrade.log" 2>&1 ||
        die "$(cat "$work/upgrade.log")"
    [ "$(in_machine dpkg-query -W -f '${Version}' windlass)" = "$(next_version)" ] || die "not upgraded"
    check_undisturbed
    in_machine systemctl restart $unit || die "$unit does not start with the next version"
    in_machine dpkg --purge "${all_three[@]}" >"$work/purge.log" 2>&1 || die "$(cat "$work/purge.log")"
    ! in_machine systemctl is-active --quiet $unit || die "$unit runs after its package was removed"
    [ ! -e "$root/etc/windlass" ] || die "/etc/windlass stays after the purge"
    end_machine
}

# The same process, with the edited file and the interface still served.
check_undisturbed() {
    local after
    after=$(in_machine systemctl show --property MainPID,ExecMainStartTimestampMonotonic,NRestarts $unit)
    [ "$before" = "$after" ] || die "the upgrade disturbed the proxy: $before became $after"
    in_machine systemctl is-active --quiet $unit || die "the proxy has ended"
    in_machine grep -q '# edited$' $conffile || die "the edited conffile is lost"
    in_machine grep -q 'the next version adds' $conffile.dpkg-dist || die "dpkg kept no new conffile beside it"
    in_machine windlass ecn-proxy status >"$work/status" || die "the new command cannot ask the old daemon"
    grep -q lan0 "$work/status" || die "the proxy no longer serves lan0: $(cat "$work/status")"
    say "after the upgrade to $(next_version): $(echo "$after" | tr '\n' ' ')"
}
