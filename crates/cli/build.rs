//! Packs the sources of Windlass's crates for `windlass new`, whose crates build from them.
//!
//! Tests stay behind, so that the edit of a test does not rebuild the command, and prebuilt BPF
//! objects, because such a crate has none of their commands. A build outside the
//! repository (a crate from a registry) carries no sources.
//!
//! Lists the scenarios for `windlass sim examples`, too, which are files of the repository as well.

use flate2::{Compression, GzBuilder};
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tar::{Builder, Header};

/// Folders of `experiments` with scenarios that the command carries, and with files that those read.
const SCENARIOS: [&str; 5] = ["c4", "examples", "ready", "tcpeval", "traces"];

type Sink = flate2::write::GzEncoder<File>;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let folder = PathBuf::from(std::env::var("OUT_DIR")?);
    let scenarios =
        if root.join("crates/cli/build.rs").is_file() { scenarios(&root)? } else { vec![] };
    fs::write(folder.join("scenarios.rs"), list(&scenarios))?;
    let out = folder.join("sources.tar.gz");
    println!("cargo:rerun-if-changed=build.rs");
    // No time in the header: the same sources give the same bytes.
    let sink = GzBuilder::new().mtime(0).write(File::create(out)?, Compression::best());
    let mut archive = Builder::new(sink);
    if root.join("crates/cli/build.rs").is_file() {
        for name in ["Cargo.toml", "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"] {
            add(&mut archive, &root, Path::new(name))?;
        }
        for folder in sorted(&root.join("crates"))? {
            for path in sorted(&folder)? {
                let relative = path.strip_prefix(&root)?;
                if ["tests", "target", "prebuilt"].iter().any(|name| path.ends_with(name)) {
                    continue;
                }
                add_all(&mut archive, &root, relative)?;
            }
        }
    }
    for path in &scenarios {
        add(&mut archive, &root, &Path::new("experiments").join(path))?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// The scenarios and the files that they read, as paths below `experiments` with `/`.
fn scenarios(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut found = Vec::new();
    for name in SCENARIOS {
        let folder = root.join("experiments").join(name);
        println!("cargo:rerun-if-changed={}", folder.display());
        let files = sorted(&folder)?.into_iter();
        let files = files.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let files = files.filter(|file| file.ends_with(".toml") || file.ends_with(".trace"));
        found.extend(files.map(|file| format!("{name}/{file}")));
    }
    Ok(found)
}

/// Rust's text of a slice with the path and the contents of each.
fn list(scenarios: &[String]) -> String {
    let entry = |path: &String| {
        let file = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../experiments/{path}\")");
        format!("    ({path:?}, include_str!({file})),\n")
    };
    format!("&[\n{}]\n", scenarios.iter().map(entry).collect::<String>())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}

fn add_all(
    archive: &mut Builder<Sink>,
    root: &Path,
    relative: &Path,
) -> Result<(), Box<dyn Error>> {
    let path = root.join(relative);
    if !path.is_dir() {
        return add(archive, root, relative);
    }
    println!("cargo:rerun-if-changed={}", path.display());
    for inner in sorted(&path)? {
        add_all(archive, root, inner.strip_prefix(root)?)?;
    }
    Ok(())
}

fn add(archive: &mut Builder<Sink>, root: &Path, relative: &Path) -> Result<(), Box<dyn Error>> {
    let path = root.join(relative);
    println!("cargo:rerun-if-changed={}", path.display());
    let mut content = fs::read(&path)?;
    if path.ends_with("Cargo.toml") {
        content = without_tests(&String::from_utf8(content)?).into_bytes();
    }
    let mut header = Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    Ok(archive.append_data(&mut header, relative, &content[..])?)
}

/// A manifest without its `[[test]]` entries, whose files are not packed.
fn without_tests(manifest: &str) -> String {
    let mut in_test = false;
    let kept = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            in_test = *line == "[[test]]";
        }
        !in_test
    });
    kept.fold(String::new(), |text, line| text + line + "\n")
}
