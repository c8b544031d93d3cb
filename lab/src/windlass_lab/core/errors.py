"""What can go wrong, with the exit status that tells it apart."""


class LabError(Exception):
    """The lab cannot start: wrong arguments, no binary, an output directory that is not its own."""

    exit_status = 2


class RunError(LabError):
    """The binary ran and failed, or said something the lab does not understand."""

    exit_status = 3
