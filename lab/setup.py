"""Builds the wheel: the package, the binary `windlass`, the native module, and the files of the
experiments.

With WINDLASS_LAB_PURE=1 only the Python part is installed: a checkout has the rest beside it, built
by cargo and scripts/build-native. WINDLASS_LAB_BUILT is a folder with `windlass` and
`lib_native.so`, which the wheel takes instead of building them: a release has one binary for all.
The source distribution has the crates in its folder `windlass`.
"""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools_rust import Binding, RustBin, RustExtension, build_rust

LAB = Path(__file__).resolve().parent
IN_SDIST = LAB / "windlass"
ROOT = IN_SDIST if IN_SDIST.is_dir() else LAB.parent
SOURCES = ["Cargo.toml", "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "crates", "experiments"]
"""Parts of the repository in a source distribution."""
FOLDERS = {"experiments": ROOT / "experiments", "testbeds": LAB / "testbeds"}
"""Parts of the repository in the package, by their folders there."""
PURE = os.environ.get("WINDLASS_LAB_PURE") == "1"
BUILT = os.environ.get("WINDLASS_LAB_BUILT")


class BuildWithExperiments(build_py):
    """Adds the scenarios and the testbeds to the package."""

    def run(self) -> None:
        """Copies the folders once the package is there."""
        super().run()
        if self.editable_mode:
            return
        for name, source in FOLDERS.items():
            target = Path(self.build_lib) / "windlass_lab" / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)


class SourcesWithCrates(sdist):
    """Adds the crates and the experiments, as far as git tracks them."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copies them into the folder `windlass` of the distribution."""
        super().make_release_tree(base_dir, files)
        listed = subprocess.run(
            ["git", "ls-files", "-z", *SOURCES],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        for name in listed.stdout.split("\0")[:-1]:
            target = Path(base_dir) / IN_SDIST.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)


class TakeBuilt(build_rust):
    """Takes the binary and the native module from a folder."""

    def run_for_extension(self, ext: RustExtension) -> None:
        """Puts one of them where cargo's would go."""
        binary = isinstance(ext, RustBin)
        module, file = ("windlass", "windlass") if binary else (ext.name, "lib_native.so")
        self.install_extension(ext, [(module, str(Path(BUILT or "") / file))], None)


setup(
    cmdclass={
        "build_py": BuildWithExperiments,
        "sdist": SourcesWithCrates,
        **({"build_rust": TakeBuilt} if BUILT else {}),
    },
    rust_extensions=[]
    if PURE
    else [
        RustExtension(
            "windlass_lab._native",
            path=os.path.relpath(ROOT / "crates/python/Cargo.toml", LAB),
            binding=Binding.PyO3,
            py_limited_api="auto",
            cargo_manifest_args=["--locked"],
        ),
        RustBin(
            "windlass",
            path=os.path.relpath(ROOT / "crates/cli/Cargo.toml", LAB),
            args=["--bin", "windlass"],
            cargo_manifest_args=["--locked"],
        ),
    ],
    options={} if PURE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
