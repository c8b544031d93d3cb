"""The version of the lab."""

VERSION = "0.2.0"
