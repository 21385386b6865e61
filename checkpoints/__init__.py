"""Everything that outlives the process: runs, gates, effects, events, checkpoints, blobs."""
