"""A PyTorch training loop for bench/training.py: reads how many steps to do, prints the seconds that
they took, until its input ends."""

import sys
import time

import torch

torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
                            torch.nn.ReLU(), torch.nn.Linear(512, 16))
optimizer = torch.optim.Adam(model.parameters())
data, target = torch.randn(64, 256), torch.randn(64, 16)


def train(steps):
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(50)
print("ready", flush=True)
for line in sys.stdin:
    start = time.monotonic()
    train(int(line))
    print(time.monotonic() - start, flush=True)
