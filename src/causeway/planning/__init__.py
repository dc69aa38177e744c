"""What a mirror replicates, from where to where: routes, topics, start positions, task orders."""
