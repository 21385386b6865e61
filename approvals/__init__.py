"""Everything between a gate and its answer: card, gate, answers, edit, review."""
