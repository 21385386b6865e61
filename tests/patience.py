"""How long a test waits for what has to come, in seconds, before it fails.

Only a failing test waits so long: a machine with much else to do must never be the reason for a failure.
"""

PATIENCE_S = 300
