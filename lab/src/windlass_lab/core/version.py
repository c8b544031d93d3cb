"""The version of the lab."""

VERSION = "0.3.0"
