"""The errors of the lab, each with its exit status."""


class LabError(Exception):
    """The lab cannot start: wrong arguments, no binary, an output directory that is not its own."""

    exit_status = 2


class ArgumentError(LabError, ValueError):
    """An argument of a function is not one that it takes."""


class RunError(LabError):
    """The binary failed, or its output is not in the format that the lab reads."""

    exit_status = 3
