"""The names under which components announce what observers read of them: endpoints, logs, counters.

They are apart from the components, so that reading the records of a run does not load all kinds of them.
"""

from __future__ import annotations

RECEIVER = "otlp-receiver"
"""The name of the receiver of traces among the components."""
GATEWAY = "gateway_admin"
"""The endpoint of a gateway at which its statistics are asked for."""
STATUS = "bundler_status"
"""The endpoint of a bundler that answers with what it counted."""
ANSWERS = "answers"
"""The folder, and the stem of the file, of what the calibrated target did for each request."""
LIMIT_STAT, STAT = "limit", "gateway"
"""How Envoy names the counters of a gateway, and those of its limit."""
