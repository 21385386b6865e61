"""Runs that begin where another was: forks, and threads that are rewound."""
