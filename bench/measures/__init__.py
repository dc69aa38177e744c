"""What is measured. Each measure takes the bench, runs contenders, and notes a sample of every run."""
