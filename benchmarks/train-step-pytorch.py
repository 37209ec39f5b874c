"""A training step of models/reatt-mini in PyTorch, to compare `npm run bench:train` with. It is for
development only: nothing of the package, its installation or its tests needs Python.

    python3 benchmarks/train-step-pytorch.py [--questions N] [--passages N] [--tokens N] [--steps N]
        [--objective supervised|retrieval] [--threads N]

The layers, the sizes and the matrix products are those of the model; weights and token ids are
random, and there is no dropout and no gradient cache: the batch is computed at once. A step has the
forward pass, the backward pass, clipping and AdamW. Prints the median time of the steps after the
first, questions/s, and the peak memory of the process.
"""

import argparse
import json
import pathlib
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

FOLDER = pathlib.Path(__file__).parent.parent / "models" / "reatt-mini"
CONFIG = json.loads((FOLDER / "config.json").read_text())
WIDTH, VOCABULARY = CONFIG["modelSize"], CONFIG["vocabularySize"]
[SHARED], [RETRIEVAL], [JOINT] = CONFIG["shared"], CONFIG["retrieval"], CONFIG["joint"]
ATTENTION, DECODER = CONFIG["retrievalAttention"], CONFIG["decoder"]
VECTOR = ATTENTION["heads"] * ATTENTION["headSize"]
INNER = DECODER["heads"] * DECODER["headSize"]
QUESTION_TOKENS, ANSWER_TOKENS = 16, 5  # as in bench-train.ts


def matrix(rows, columns):
    return nn.Linear(rows, columns, bias=False)


def attention(query, key, value, heads, scale, bias=0):
    """softmax(scale Q K^T + bias) V: [batch, length, heads * size] -> the same."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    shares = torch.softmax(scale * (q @ k.transpose(-1, -2)) + bias, -1)
    return (shares @ v).transpose(1, 2).flatten(-2), shares


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class BertBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.first = nn.Linear(WIDTH, SHARED["feedForwardSize"])
        self.second = nn.Linear(SHARED["feedForwardSize"], WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, x):
        heads = SHARED["heads"]
        scale = (WIDTH / heads) ** -0.5
        mixed, _ = attention(self.query(x), self.key(x), self.value(x), heads, scale)
        y = self.norms[0](x + self.out(mixed))
        return self.norms[1](y + self.second(F.gelu(self.first(y))))


class T5Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RMSNorm()
        self.query, self.key, self.value = (matrix(WIDTH, INNER) for _ in range(3))
        self.out = matrix(INNER, WIDTH)

    def forward(self, x, bias, read=None):
        normed = self.norm(x)
        source = normed if read is None else read
        query, key, value = self.query(normed), self.key(source), self.value(source)
        mixed, shares = attention(query, key, value, DECODER["heads"], 1, bias)
        return x + self.out(mixed), shares


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RMSNorm()
        inner = DECODER["feedForwardSize"]
        self.gate, self.first = matrix(WIDTH, inner), matrix(WIDTH, inner)
        self.second = matrix(inner, WIDTH)

    def forward(self, x):
        normed = self.norm(x)
        return x + self.second(F.gelu(self.gate(normed)) * self.first(normed))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(SHARED["positions"], WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH)
        self.shared, self.retrieval, self.joint = (
            nn.ModuleList(BertBlock() for _ in range(stack["layers"]))
            for stack in (SHARED, RETRIEVAL, JOINT)
        )
        self.query, self.key = matrix(WIDTH, VECTOR), matrix(WIDTH, VECTOR)
        self.input_map, self.joint_norm = nn.Linear(WIDTH, WIDTH), RMSNorm()
        self.decoder_bias = nn.Embedding(32, DECODER["heads"])
        self.decoder = nn.ModuleList(
            nn.ModuleList([T5Attention(), T5Attention(), FeedForward()])
            for _ in range(DECODER["layers"])
        )
        self.decoder_norm, self.retrieval_norm = RMSNorm(), RMSNorm()
        self.copy_gate = nn.Linear(WIDTH, 1)

    def reading(self, ids):
        x = self.embedding_norm(self.embedding(ids) + self.positions.weight[: ids.shape[1]])
        for block in self.shared:
            x = block(x)
        return x

    def vectors(self, states, projection):
        for block in self.retrieval:
            states = block(states)
        return F.normalize(projection(self.retrieval_norm(states)), dim=-1)

    def scores(self, questions, passages):
        """[questions, passages]: the mean over question tokens of the best passage token."""
        q, k = self.vectors(questions, self.query), self.vectors(passages, self.key)
        matches = q.flatten(0, 1) @ k.flatten(0, 1).T
        best = matches.unflatten(1, k.shape[:2]).amax(2)
        return best.unflatten(0, q.shape[:2]).mean(1)

    def read(self, question, passage, answers, per_question):
        """log P of the answer tokens, written or copied: [questions, ANSWER_TOKENS]."""
        pairs = torch.cat([question.repeat_interleave(per_question, 0), passage], 1)
        pairs = self.input_map(pairs)
        for block in self.joint:
            pairs = block(pairs)
        states = self.joint_norm(pairs).unflatten(0, (-1, per_question)).flatten(1, 2)
        x = self.embedding(answers)
        causal = torch.full((answers.shape[1],) * 2, -1e9).triu(1)
        own = relative_bias(self.decoder_bias, answers.shape[1]) + causal
        for attend, cross, forward in self.decoder:
            x, _ = attend(x, own)
            x, shares = cross(x, 0, states)
            x = forward(x)
        x = self.decoder_norm(x)
        written = torch.log_softmax(x * WIDTH**-0.5 @ self.embedding.weight.T, -1)
        copied = shares.mean(1)[..., :ANSWER_TOKENS].sum(-1).clamp_min(1e-9).log()
        gate = self.copy_gate(x)[..., 0]
        label = written.gather(-1, answers[..., None])[..., 0]
        return torch.logaddexp(F.logsigmoid(-gate) + label, F.logsigmoid(gate) + copied)


def relative_bias(table, length):
    distance = torch.arange(length)[None] - torch.arange(length)[:, None]
    return table(distance.clamp(-15, 16) + 15).permute(2, 0, 1)


def main():
    parser = argparse.ArgumentParser()
    defaults = {"questions": 16, "passages": 8, "tokens": 128, "steps": 3, "threads": 2}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--objective", choices=["supervised", "retrieval"], default="supervised")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    model = Model()
    if given.objective == "retrieval":  # trains what only retrieval uses
        parts = [model.retrieval, model.query, model.key, model.retrieval_norm]
        trained = [parameter for part in parts for parameter in part.parameters()]
        for parameter in set(model.parameters()) - set(trained):
            parameter.requires_grad_(False)
    else:
        trained = list(model.parameters())
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    count = given.questions
    questions = torch.randint(VOCABULARY, (count, QUESTION_TOKENS))
    passages = torch.randint(VOCABULARY, (count * given.passages, given.tokens))
    answers = torch.randint(VOCABULARY, (count, ANSWER_TOKENS))
    gold = torch.arange(given.questions) * given.passages
    seconds = []
    for _ in range(given.steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        question, passage = model.reading(questions), model.reading(passages)
        loss = F.cross_entropy(20 * model.scores(question, passage), gold)
        if given.objective == "supervised":
            loss = loss - model.read(question, passage, answers, given.passages).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1)
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    step = statistics.median(seconds[1:])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"PyTorch {torch.__version__}, {given.objective}, "
        f"{count} x {given.passages} x {given.tokens}: "
        f"{step:.2f} s a step, {count / step:.2f} questions/s, {memory:.2f} GB"
    )


main()
