"""``python -m patternbench``: the same command."""

from patternbench.command import main

main()
