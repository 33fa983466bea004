"""The gMLP of bench/learning/pictures in PyTorch, trained as weft does."""
import math
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "steps"))
from step_peer import GmlpBlock, sinusoids

BATCH, LABELS = 64, 10


class Gmlp(nn.Module):
    """W patch + b + sinusoids, blocks, mean over the patches, norm and head."""

    def __init__(self, d=64, d_ffn=192, layers=5, n=49, patch=16):
        super().__init__()
        sizes = {"d_model": d, "d_ffn": d_ffn, "seq_len": n}
        self.projection = nn.Linear(patch, d)
        self.blocks = nn.Sequential(*(GmlpBlock(sizes, "matmul", causal=False, dropout=0.1) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, LABELS)
        self.register_buffer("places", sinusoids(n, d))

    def forward(self, pictures):  # (b, 28, 28)
        patches = pictures.reshape(-1, 7, 4, 7, 4).transpose(2, 3).reshape(-1, 49, 16)
        return self.head(self.norm(self.blocks(self.projection(patches) + self.places).mean(1)))


def divided(x, y):
    """Returns a tenth of the pictures and labels as the validation set, and the others as the training set."""
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    validation, training = rows[:len(x) // 10], rows[len(x) // 10:]
    return (x[validation], y[validation]), (x[training], y[training])


def batches(x, y, steps, black):
    """Yields the batches of the training set in random order. The pictures are flipped and shifted at random by up to
    one pixel. `black` is the value of the pixels at the border."""
    rows = torch.arange(len(x))
    for step in range(steps):
        begin = step * BATCH % (len(x) - BATCH + 1)
        if begin < BATCH:
            rows = rows[torch.randperm(len(x))]
        batch = rows[begin:begin + BATCH]
        down, right = torch.randint(0, 3, (2,)).tolist()  # one shift per batch; cheaper than weft's shift per picture
        pictures = F.pad(x[batch], (1, 1, 1, 1), value=black)[:, down:down + 28, right:right + 28]
        yield torch.where(torch.rand(BATCH, 1, 1) < 0.5, pictures.flip(2), pictures), y[batch]


def accuracy(model, pictures, labels):
    """Returns the accuracy in %."""
    model.eval()
    with torch.no_grad():
        right = sum((model(p).argmax(1) == l).sum().item() for p, l in zip(pictures.split(500), labels.split(500)))
    model.train()
    return 100 * right / len(labels)


def train(training, test, steps, seed, threads, compiled):
    """Trains with AdamW, a cosine schedule with 100 steps of warm-up, and gradients clipped to norm 1. The arguments
    `training` and `test` are NumPy arrays (pictures, labels). Returns (test accuracy in % of the step with the best
    validation accuracy, seconds of training, validations). `validations` is a list of (seconds of training before this
    validation, validation accuracy in %). The seconds include neither the first step nor the validations."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    mean, deviation = training[0].mean(), training[0].std()
    training, test = ((torch.from_numpy((x - mean) / deviation), torch.from_numpy(y)) for x, y in (training, test))
    validation, training = divided(*training)
    model = Gmlp()
    forward = torch.compile(model) if compiled else model
    groups = [{"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.99), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(
        (step + 1) / 100, 0.5 * (1 + math.cos(math.pi * max(0, step - 100) / max(1, steps - 100)))))
    best, seconds, validations, start = (-1, None), 0.0, [], time.perf_counter()
    for step, (pictures, labels) in enumerate(batches(*training, steps, -float(mean / deviation)), 1):
        loss = F.cross_entropy(forward(pictures), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seconds += (time.perf_counter() - start) * (step > 1)  # without the first step, which may compile the model
        if step % -(-steps // 14) == 0 or step == steps:
            now = accuracy(model, *validation)
            validations.append((seconds, now))
            print(f"PyTorch: step {step}, {seconds:.0f} s, validation accuracy {now:.2f} %", file=sys.stderr)
            if now > best[0]:
                best = (now, accuracy(model, *test))
        start = time.perf_counter()
    return best[1], seconds, validations
