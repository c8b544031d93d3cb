//! The files of the crates that `windlass new` writes. `{{NAME}}` and the like are placeholders.

/// A kind of crate that extends Windlass.
pub(super) struct Kind {
    /// The noun for the extension in texts.
    pub(super) what: &'static str,
    /// The method of the registry that adds it.
    pub(super) method: &'static str,
    /// How the command uses the extension, for the README.
    pub(super) uses: &'static str,
    /// The files of this kind alone.
    pub(super) files: [(&'static str, &'static str); 3],
}

/// The files of every crate.
pub(super) const COMMON: [(&str, &str); 4] = [
    ("Cargo.toml", include_str!("common/Cargo.toml.in")),
    ("README.md", include_str!("common/README.md.in")),
    ("src/main.rs", include_str!("common/main.rs.in")),
    (".gitignore", "/target\n/out*\n"),
];

pub(super) const CONTROLLER: Kind = Kind {
    what: "congestion controller",
    method: "controller",
    uses: "`judge`, `sim batch`, `sim chaos --controller {{NAME}}` (random bad paths), \
           `tou perf client --cc {{NAME}}` (real packets; feature `tou`), \
           `probe serve --controller {{NAME}}` (feature `probe`)",
    files: [
        ("scenario.toml", include_str!("controller/scenario.toml.in")),
        ("src/lib.rs", include_str!("controller/lib.rs.in")),
        ("tests/simulator.rs", include_str!("controller/simulator.rs.in")),
    ],
};

pub(super) const QUEUE: Kind = Kind {
    what: "queue discipline",
    method: "queue",
    uses: "`sim batch`, `link --aqm {{NAME}}` (real packets; feature `link`)",
    files: [
        ("scenario.toml", include_str!("queue/scenario.toml.in")),
        ("src/lib.rs", include_str!("queue/lib.rs.in")),
        ("tests/simulator.rs", include_str!("queue/simulator.rs.in")),
    ],
};

pub(super) const MIDDLEBOX: Kind = Kind {
    what: "middlebox",
    method: "middlebox",
    uses: "`sim batch`, `sim run --pcap`",
    files: [
        ("scenario.toml", include_str!("middlebox/scenario.toml.in")),
        ("src/lib.rs", include_str!("middlebox/lib.rs.in")),
        ("tests/simulator.rs", include_str!("middlebox/simulator.rs.in")),
    ],
};
