"""What a run, a plan or a step looks like to a person, whatever draws it: sentences, marks, states."""
