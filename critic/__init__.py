"""The critic's judgement: pure functions of what is on record, and the one reader that gathers it."""
