#!/usr/bin/env python3
# A small training job without end: an MLP on the CPU. Dynolog needs nothing of it but its
# environment: KINETO_USE_DAEMON=1, and KINETO_IPC_SOCKET_DIR where `dyno env` says so.
import argparse

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=0, help='end after so many (default: never)')
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    inputs = torch.randn(256, 64)
    labels = torch.randint(0, 10, (256,))

    step = 0
    while options.steps == 0 or step < options.steps:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step == 1 or step % 1000 == 0:
            print(f'step {step}: loss {loss.item():.4f}', flush=True)


if __name__ == '__main__':
    main()
