"""``python -m patternbench``: the same command."""

from patternbench.cli.main import main

main()
