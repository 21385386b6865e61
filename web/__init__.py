"""The page in a browser: approvals, runs, effects and requests of one workspace, on this machine."""
