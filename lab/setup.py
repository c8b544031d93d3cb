"""Builds the wheel: the package, the binary `windlass`, the native module, and the files of the
experiments.

With WINDLASS_LAB_PURE=1 only the Python part is installed: a checkout has the rest beside it, built
by cargo and scripts/build-native.
"""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools_rust import Binding, RustBin, RustExtension

LAB = Path(__file__).resolve().parent
FOLDERS = {"experiments": LAB.parent / "experiments", "testbeds": LAB / "testbeds"}
"""What the package holds of the repository, by its folder there."""
PURE = os.environ.get("WINDLASS_LAB_PURE") == "1"


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


setup(
    cmdclass={"build_py": BuildWithExperiments},
    rust_extensions=[]
    if PURE
    else [
        RustExtension(
            "windlass_lab._native",
            path="../crates/python/Cargo.toml",
            binding=Binding.PyO3,
            py_limited_api="auto",
            cargo_manifest_args=["--locked"],
        ),
        RustBin(
            "windlass",
            path="../crates/cli/Cargo.toml",
            args=["--bin", "windlass"],
            cargo_manifest_args=["--locked"],
        ),
    ],
    options={} if PURE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
