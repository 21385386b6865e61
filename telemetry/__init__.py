"""What an operator sees of runs: log records and traces, with nothing secret in them."""

import logging

logging.getLogger("planwright").addHandler(logging.NullHandler())  # what is heard is up to the program
