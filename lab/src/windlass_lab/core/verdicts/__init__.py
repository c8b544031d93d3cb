"""The rules: criteria, and whether a figure meets one."""
