"""What tests share: a world of two clusters, mirrors as processes, and independent readers of both sides."""
