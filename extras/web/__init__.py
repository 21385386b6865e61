"""The page in a browser: approvals, runs, effects, requests, and how a workspace is set up and used."""
