"""What commands print with ``--json``: one model per command, from which the schemas in ``contracts/cli`` are made."""
