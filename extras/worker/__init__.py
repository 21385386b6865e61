"""Work in the background: a worker that takes up queued runs, looks after them, and keeps schedules."""
