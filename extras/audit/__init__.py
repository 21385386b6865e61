"""What is asked of runs that have ended: replay without a tool or a model, differences, figures, cases."""
