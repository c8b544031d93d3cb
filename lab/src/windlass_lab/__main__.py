"""`python -m windlass_lab`."""

import sys

from windlass_lab.cli import main

sys.exit(main())
