"""Coverage-guided fuzzing, by hand: what it finds is kept as an ordinary test beside what it is about."""
