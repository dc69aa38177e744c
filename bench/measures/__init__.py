"""The measures. Each takes the bench, runs contenders, and records a sample of every run."""
