# SPDX-License-Identifier: Apache-2.0
"""A torch model in training: weights, gradients and the optimiser's state go on as they would have; new tensors are zero."""

import torch
from truth import checkpoint, done, equal

torch.manual_seed(4)
torch.set_num_threads(2)
inputs = torch.rand(256, 512)


def build() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    return model, torch.optim.Adam(model.parameters())


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


reference = build()
losses = [train(*reference) for _ in range(6)]
while True:
    model = build()
    equal([train(*model) for _ in range(3)], losses[:3])
    kept = [torch.full((100_000,), i + 1, dtype=torch.uint8) for i in range(100)]

    me = checkpoint()

    equal([train(*model) for _ in range(3)], losses[3:])
    del kept[1::2]
    for turn in range(100):
        zeros = torch.zeros(50_000 * (1 + turn % 7), dtype=torch.uint8)
        equal(bool(zeros.any()), False)
        zeros.fill_(255)
    equal([int(tensor[0]) for tensor in kept if bool((tensor == tensor[0]).all())], list(range(1, 101, 2)))
    del model, kept
    done()
