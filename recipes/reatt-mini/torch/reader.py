"""The reader of the third generation in PyTorch, for development: the graph of the library, to be
trained on a GPU or in bfloat16.

    states = joint layers(input map([shared layers(question) ; shared layers(passage)]))
    answer = decoder with copying(norm(states))

Shared layers (three of MiniLM) are fixed, so retrieval and its indexes stay as they are. Joint layers
are layers 4 to 12 of gte-small. The decoder is that of src/decoder: T5 layers, and the copy mechanism of
src/decoder/copying.ts. GELU has the tanh approximation everywhere.

Letters of shapes: B questions, n tokens of a question, m of a passage, T of an answer, d width.
"""

import math

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import nn

WIDTH = 384
BERT_HEADS, BERT_INNER = 12, 1536
HEADS, HEAD_SIZE, INNER = 4, 128, 768  # of the decoder
ROWS, POSITIONS = 32128, 512
BUCKETS, MAX_DISTANCE = 32, 128
EPSILON = 1e-9  # COPY_EPSILON
MASKED = -1e9


def read_weights(path):
    """Tensors of a safetensors file of the library as float32, int8 matrices decoded (src/checkpoints/int8.ts)."""
    weights = {}
    with safe_open(path, "pt") as file:
        names = set(file.keys())
        for name in names:
            if name.endswith("_scale"):
                continue
            tensor = file.get_tensor(name)
            if tensor.dtype == torch.int8:
                rows = file.get_tensor(f"{name}_scale").float()
                if f"{name}_column_scale" in names:  # a table, [rows, columns]
                    columns = file.get_tensor(f"{name}_column_scale").float()
                    tensor = tensor.float() * rows[:, None] * columns[None]
                else:  # a linear layer, stored as [columns, rows]
                    tensor = (tensor.float() * rows[None]).t()
            weights[name] = tensor.float().contiguous()
    return weights


class BertLayer(nn.Module):
    """src/model/layers/bert.ts"""

    # the names of BertModel in transformers
    NAMES = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "inner": "intermediate.dense",
        "outer": "output.dense",
        "outer_norm": "output.LayerNorm",
    }

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, BERT_INNER), nn.Linear(BERT_INNER, WIDTH)
        self.attention_norm, self.outer_norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))

    def forward(self, x, mask, dropout=0.0):
        """x [B, length, d], mask [B, 1, 1, length] or None -> [B, length, d]"""

        def heads(y):
            return y.view(*y.shape[:2], BERT_HEADS, WIDTH // BERT_HEADS).transpose(1, 2)

        def drop(y):
            return F.dropout(y, dropout, self.training) if dropout else y

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        # written out: the fused kernel is half as fast on a processor with heads of 32 values
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(2, 3)
        if mask is not None:  # added: on a processor masked_fill takes longer than the product
            scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, MASKED)
        mean = (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).reshape(x.shape)
        x = self.attention_norm(x + drop(self.output(mean)))
        return self.outer_norm(x + drop(self.outer(F.gelu(self.inner(x), approximate="tanh"))))


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight


class T5Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * HEAD_SIZE, bias=False) for _ in range(3))
        self.o = nn.Linear(HEADS * HEAD_SIZE, WIDTH, bias=False)

    def forward(self, queries, keys, bias):
        """-> output [B, T, d], scores before softmax [B, heads, T, length]"""

        def heads(y):
            return y.view(*y.shape[:2], HEADS, HEAD_SIZE).transpose(1, 2)

        q, k, v = heads(self.q(queries)), heads(self.k(keys)), heads(self.v(keys))
        scores = (q @ k.transpose(2, 3)).float() + bias
        means = (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2)
        return self.o(means), scores


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_norm, self.cross_norm, self.inner_norm = RmsNorm(), RmsNorm(), RmsNorm()
        self.self_attention, self.cross_attention = T5Attention(), T5Attention()
        self.wi_0, self.wi_1 = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.wo = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, states, self_bias, cross_bias):
        normed = self.self_norm(x)
        x = x + self.self_attention(normed, normed, self_bias)[0]
        output, scores = self.cross_attention(self.cross_norm(x), states, cross_bias)
        x = x + output
        normed = self.inner_norm(x)
        return x + self.wo(F.gelu(self.wi_0(normed), approximate="tanh") * self.wi_1(normed)), scores


def decoder_buckets(length):
    """The buckets of T5's causal relative positions: [length, length]"""
    exact = BUCKETS // 2
    buckets = torch.zeros(length, length, dtype=torch.long)
    for i in range(length):
        for j in range(i + 1):
            far = exact + int(math.log(max(i - j, 1) / exact) / math.log(MAX_DISTANCE / exact) * (BUCKETS - exact))
            buckets[i, j] = i - j if i - j < exact else min(BUCKETS - 1, far)
    return buckets


class Reader(nn.Module):
    def __init__(self, joint_layers=9, decoder_layers=2, shared_layers=3):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(ROWS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.shared = nn.ModuleList(BertLayer() for _ in range(shared_layers))
        self.input_map = nn.Linear(WIDTH, WIDTH)
        self.joint = nn.ModuleList(BertLayer() for _ in range(joint_layers))
        self.joint_norm = RmsNorm()
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(decoder_layers))
        self.relative_bias = nn.Parameter(torch.zeros(BUCKETS, HEADS))
        self.decoder_norm, self.copy_gate = RmsNorm(), nn.Linear(WIDTH, 1, bias=False)

    @torch.no_grad()
    def shared_states(self, ids, mask):
        """A text alone: ids [B, length] -> [B, length, d]. Padding stands on the right."""
        x = self.embedding_norm(self.embedding(ids) + self.positions.weight[: ids.shape[1]])
        for layer in self.shared:
            x = layer(x, mask[:, None, None, :])
        return x

    def joint_states(self, question, question_mask, passage, passage_mask, dropout=0.0):
        """Each question with each of its P passages, [B * P, m], joined as src/decoder/fusion.ts
        does -> states [B, P * (n + m), d] and their mask"""
        rows = question.shape[0]
        count = passage.shape[0] // rows
        questions = self.shared_states(question, question_mask).repeat_interleave(count, 0)
        x = torch.cat([questions, self.shared_states(passage, passage_mask)], 1)
        mask = torch.cat([question_mask.repeat_interleave(count, 0), passage_mask], 1)
        x = self.input_map(x)
        for layer in self.joint:
            x = layer(x, mask[:, None, None, :], dropout)
        return self.joint_norm(x).reshape(rows, -1, WIDTH), mask.reshape(rows, -1)

    def decode(self, states, mask, written):
        """written [B, T], beginning with 0 -> states [B, T, d], copy attention [B, T, n + m]"""
        length = written.shape[1]
        future = torch.full((length, length), MASKED, device=written.device).triu(1)
        self_bias = self.relative_bias[decoder_buckets(length).to(written.device)].permute(2, 0, 1) + future
        cross_bias = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, MASKED)[:, None, None, :]
        x = self.embedding(written)
        for layer in self.decoder:
            x, scores = layer(x, states, self_bias[None], cross_bias)
        return self.decoder_norm(x), scores.softmax(-1).mean(1)


def answer_losses(reader, batch, dropout=0.0):
    """nll and copy-attention loss of the library (src/training), each divided by the answers' tokens.

    batch: question [B, n], passage [B * P, m], labels [B, T] (int64, padded with 0), their masks,
    and copies [B, T, P * (n + m)], 1 where a token of the input is that token of the answer.
    """
    states, mask = reader.joint_states(
        batch["question"], batch["question_mask"], batch["passage"], batch["passage_mask"], dropout
    )
    labels, label_mask = batch["labels"], batch["label_mask"]
    written = torch.cat([torch.zeros_like(labels[:, :1]), labels[:, :-1]], 1)
    outputs, attention = reader.decode(states, mask, written)
    logits = (outputs @ reader.embedding.weight.t() * WIDTH**-0.5).float()
    of_vocabulary = logits.log_softmax(-1).gather(2, labels[..., None])[..., 0]
    gate = torch.sigmoid(reader.copy_gate(outputs.float()))[..., 0]
    count = batch["passage"].shape[0] // labels.shape[0]
    ids = torch.cat([batch["question"].repeat_interleave(count, 0), batch["passage"]], 1)
    ids = ids.reshape(len(labels), -1)
    share = (attention * (ids[:, None] == labels[..., None])).sum(-1)
    mixed = torch.logaddexp(
        torch.log(1 - gate + EPSILON) + of_vocabulary, torch.log(gate + EPSILON) + torch.log(share + EPSILON)
    )
    tokens = label_mask.sum()
    copies = batch["copies"]
    on_answer = torch.log((attention * copies).sum(2) + EPSILON) * copies.amax(2)
    return -(mixed * label_mask).sum() / tokens, -on_answer.sum() / tokens
