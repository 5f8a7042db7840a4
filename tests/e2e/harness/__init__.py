"""What the end-to-end tests stand on: the real programs, real PyTorch jobs, raw protocol clients."""
