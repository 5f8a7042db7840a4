"""What the end-to-end tests stand on: the real programs, PyTorch jobs, raw protocol clients."""
