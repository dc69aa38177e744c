"""What tests share: a world of two clusters, mirrors as processes, and eyes of their own on both sides."""
