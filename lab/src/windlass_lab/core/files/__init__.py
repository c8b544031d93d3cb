"""Files: output directories, lines, TOML, plain JSON values."""
