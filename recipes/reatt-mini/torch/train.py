"""Trains the reader of the third generation from its start, or continues: `train.py --help`.

Reads the tokens of tokens.ts and the model before, in the form of the library. Writes OUT/last.pt (weights, AdamW, step), from which
the same command continues, and OUT/reader.safetensors, the weights under the library's names.
"""

import argparse
import json
import math
import os
import random
import time
from collections import Counter

import torch
from reader import BertLayer, Reader, answer_losses, read_weights
from safetensors.torch import save_file

LABELS = 24  # tokens of an answer, without its end
END = 1  # </s>
BUCKET = 16  # batches that are sorted by length together
COUNTS = 1, 2, 4  # passages of a question
NEAR = 12  # passages before and after the right one, among which wrong ones are looked for
WARM_UP = 150  # steps
WRONG = 4  # wrong passages of a question from its article, besides those of BM25


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tokens", default="runs/reatt-mini/tokens")
    p.add_argument("--model", default="runs/reatt-mini/more")
    p.add_argument("--start", help="a model with these layers, to train further; without it, the start of the reader")
    p.add_argument("--gte", default="runs/gte-small", help="gte-small as safetensors, weights named as in BertModel")
    p.add_argument("--pieces", default="runs/reatt-mini/tokenizer/pieces.json")
    p.add_argument("--out", default="runs/reatt-mini/third")
    p.add_argument("--steps", type=int, default=2200)
    p.add_argument("--questions", type=int, default=32)
    p.add_argument("--learning-rate", type=float, default=2.5e-4)
    p.add_argument("--decay", type=float, default=0.35, help="share of the steps, at the end, in which the rate falls")
    p.add_argument("--counts", default="0.6,0.4,0", help="shares of the steps that read 1, 2 and 4 passages a question")
    p.add_argument("--unanswered", type=float, default=0.12, help="share of the questions whose passages are wrong")
    p.add_argument("--tables", type=float, default=0.0, help="share of the steps that read the tables of table-tokens.ts")
    p.add_argument("--documents", type=float, default=0.0, help="share of the steps that read document-tokens.ts's")
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return p.parse_args()


def read_set(folder, name):
    def lines(kind):
        with open(f"{folder}/{name}.{kind}.jsonl") as file:
            return [json.loads(line) for line in file]

    return lines("passages"), lines("questions")


def start(reader, model, gte, pieces, passages):
    """Weights before training: shared layers and decoder of the model before, joint layers of gte-small, and
    the map between them by least squares over the states of `passages`."""
    shipped, teacher = read_weights(f"{model}/model.safetensors"), read_weights(f"{gte}/model.safetensors")
    with torch.no_grad():
        reader.embedding.weight.copy_(shipped["embedding.weight"])
        reader.positions.weight.copy_(shipped["shared.0.embeddings.position_embeddings.weight"])
        load_norm(reader.embedding_norm, shipped, "shared.0.embeddings.LayerNorm")
        for i, layer in enumerate(reader.shared):
            load_layer(layer, shipped, f"shared.0.layer.{i}")
        below = [BertLayer() for _ in reader.shared]
        for i, layer in enumerate([*below, *reader.joint]):
            load_layer(layer, teacher, f"encoder.layer.{i}")
        load_decoder(reader, shipped)
        table = torch.tensor([i if i >= 0 else 100 for i in json.load(open(pieces))])  # 100: [UNK]
        states, targets = [], []
        embeddings = {k: teacher[f"embeddings.{k}.weight"] for k in ("word_embeddings", "position_embeddings")}
        types = teacher["embeddings.token_type_embeddings.weight"][0]
        norm = torch.nn.LayerNorm(types.shape[0], eps=1e-12)
        load_norm(norm, teacher, "embeddings.LayerNorm")
        for ids in passages:
            row = torch.tensor([ids])
            states.append(reader.shared_states(row, torch.ones_like(row).bool())[0])
            positions = embeddings["position_embeddings"][: len(ids)]
            x = norm(embeddings["word_embeddings"][table[row]] + positions + types)
            for layer in below:
                x = layer(x, None)
            targets.append(x[0])
        states, targets = torch.cat(states), torch.cat(targets)
        ones = torch.ones(len(states), 1)
        solution = torch.linalg.lstsq(torch.cat([states, ones], 1), targets).solution
        reader.input_map.weight.copy_(solution[:-1].t())
        reader.input_map.bias.copy_(solution[-1])
        residual = reader.input_map(states) - targets
        explained = 1 - (residual**2).sum() / ((targets - targets.mean(0)) ** 2).sum()
        print(f"the map explains {explained:.3f} of the variance of {len(states)} states", flush=True)


def go_on(reader, model):
    """Weights of a model of the library with the same layers."""
    weights = read_weights(f"{model}/model.safetensors")
    with torch.no_grad():
        for name, parameter in reader_names(reader).items():
            parameter.copy_(weights[name])


def load_norm(norm, weights, name):
    norm.weight.copy_(weights[f"{name}.weight"])
    norm.bias.copy_(weights[f"{name}.bias"])


def load_layer(layer, weights, prefix):
    for attribute, name in BertLayer.NAMES.items():
        load_norm(getattr(layer, attribute), weights, f"{prefix}.{name}")


def reader_names(reader):
    """All parameters by the names of the library."""
    names = {
        "embedding.weight": reader.embedding.weight,
        "shared.0.embeddings.position_embeddings.weight": reader.positions.weight,
        "shared.0.embeddings.LayerNorm.weight": reader.embedding_norm.weight,
        "shared.0.embeddings.LayerNorm.bias": reader.embedding_norm.bias,
        "joint.0.input_map.weight": reader.input_map.weight,
        "joint.0.input_map.bias": reader.input_map.bias,
        "joint.final_layer_norm.weight": reader.joint_norm.weight,
        **decoder_names(reader),
    }
    for stack, layers in (("shared", reader.shared), ("joint", reader.joint)):
        for i, layer in enumerate(layers):
            for attribute, name in BertLayer.NAMES.items():
                for part in ("weight", "bias"):
                    names[f"{stack}.0.layer.{i}.{name}.{part}"] = getattr(getattr(layer, attribute), part)
    return names


def decoder_names(reader):
    """Parameters of the decoder by the names of the library."""
    names = {
        "decoder.relative_attention_bias.weight": reader.relative_bias,
        "decoder.final_layer_norm.weight": reader.decoder_norm.weight,
        "decoder.copy_gate.weight": reader.copy_gate.weight,
    }
    for i, layer in enumerate(reader.decoder):
        for n, norm in enumerate((layer.self_norm, layer.cross_norm, layer.inner_norm)):
            names[f"decoder.layer.{i}.layer.{n}.layer_norm.weight"] = norm.weight
        for n, kind, attention in ((0, "Self", layer.self_attention), (1, "EncDec", layer.cross_attention)):
            for part in "qkvo":
                names[f"decoder.layer.{i}.layer.{n}.{kind}Attention.{part}.weight"] = getattr(attention, part).weight
        for part in ("wi_0", "wi_1", "wo"):
            names[f"decoder.layer.{i}.layer.2.DenseReluDense.{part}.weight"] = getattr(layer, part).weight
    return names


def load_decoder(reader, weights):
    """The decoder of the model; its cross-attention starts anew, since it reads other states."""
    for name, parameter in decoder_names(reader).items():
        if "EncDecAttention" not in name:
            parameter.copy_(weights[name])
            continue
        columns = parameter.shape[1]
        factor = {"q": 4 * 128**-0.5, "o": 0.3}.get(name[-8], 1)
        parameter.normal_(0, factor * columns**-0.5)


def pad(rows, device):
    length = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows], device=device)
    mask = torch.tensor([[True] * len(row) + [False] * (length - len(row)) for row in rows], device=device)
    return ids, mask


def wrong_passages(questions, passages):
    """Of each question, WRONG passages near the right one that share its rarest terms and none of its
    answers, and those of BM25."""
    seen = Counter(token for ids in passages for token in set(ids))
    sets = [set(ids) for ids in passages]
    found = []
    for q in questions:
        right = q["passage"]
        ids = passages[right]
        answers = {tuple(ids[first : last + 1]) for places in q["places"] for first, last in places}
        terms = set(q["ids"])
        near = [p for p in range(max(0, right - NEAR), min(len(passages), right + NEAR + 1)) if p != right]
        near.sort(key=lambda p: -sum(math.log(len(passages) / seen[t]) for t in terms & sets[p]))
        without = [p for p in near if not any(contains(passages[p], answer) for answer in answers)]
        found.append(sorted({*without[:WRONG], *q.get("similar", [])}))
    return found


def contains(ids, part):
    return any(tuple(ids[i : i + len(part)]) == part for i, token in enumerate(ids) if token == part[0])


def read_passages(q, count, unanswered, draw):
    """`count` passages of a question, the right one among them or, for a share of the questions, not.
    Returns their positions and the place of the right one. A question that none answers reads its own, too."""
    wrong = draw.sample(q["wrong"], len(q["wrong"]))
    is_answered = bool(q["places"]) or "points" in q
    if is_answered and draw.random() < unanswered and len(wrong) >= count:
        return wrong[:count], None
    found = [q["passage"], *wrong][:count]
    found += found[:1] * (count - len(found))  # a question without a wrong passage reads the right one twice
    draw.shuffle(found)
    return found, found.index(q["passage"]) if is_answered else None


def batch_of(questions, passages, count, unanswered, draw, device):
    """The tensors of answer_losses. An answer is drawn; its tokens are those of the passage. Of a question with
    `points`, the first attention is taught alone: to any of the tokens from the first to the last."""
    read = [read_passages(q, count, unanswered, draw) for q in questions]
    question, question_mask = pad([q["ids"] for q in questions], device)
    passage, passage_mask = pad([passages[p] for found, _ in read for p in found], device)
    has_span = [bool(q["places"]) and right is not None for q, (_, right) in zip(questions, read)]
    places = [draw.choice(q["places"]) if has else [] for q, has in zip(questions, has_span)]
    rows = []
    for q, found in zip(questions, places):
        tokens = passages[q["passage"]][found[0][0] : found[0][1] + 1] if found else []
        rows.append([*tokens[:LABELS], END])
    labels, label_mask = pad(rows, device)
    one = question.shape[1] + passage.shape[1]
    copies = torch.zeros(*labels.shape, count * one)
    for i, (found, (_, right)) in enumerate(zip(places, read)):
        for first, last in found:
            for t in range(min(last - first + 1, LABELS)):
                copies[i, t, right * one + question.shape[1] + first + t] = 1
    for i, (q, (_, right)) in enumerate(zip(questions, read)):
        if "points" in q and right is not None:
            first, last = (right * one + question.shape[1] + token for token in q["points"])
            copies[i, 0, first : last + 1] = 1
            label_mask[i] = False
    return {
        "question": question,
        "question_mask": question_mask,
        "passage": passage,
        "passage_mask": passage_mask,
        "labels": labels,
        "label_mask": label_mask.float(),
        "copies": copies.to(device),
    }


def batches(questions, passages, size, seed):
    """Endless batches of questions with passages of similar length; epoch after epoch."""
    epoch = 0
    while True:
        draw = random.Random(f"{seed} {epoch}")
        order = draw.sample(range(len(questions)), len(questions))
        found = []
        for i in range(0, len(order), size * BUCKET):
            near = sorted(order[i : i + size * BUCKET], key=lambda q: len(passages[questions[q]["passage"]]))
            found += [near[j : j + size] for j in range(0, len(near), size)]
        draw.shuffle(found)
        for indexes in found:
            yield [questions[q] for q in indexes]
        epoch += 1


def export(reader, path):
    """Joint layers, map, norm and decoder under the library's names; shared layers stay as they are."""
    trained = reader_names(reader).items()
    tensors = {name: t for name, t in trained if name.startswith(("joint", "decoder"))}
    save_file({name: t.detach().cpu().float().contiguous() for name, t in tensors.items()}, path)


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    last = f"{options.out}/last.pt"
    torch.manual_seed(options.seed)
    passages, questions = read_set(options.tokens, "train")
    for q, wrong in zip(questions, wrong_passages(questions, passages)):
        q["wrong"] = wrong
    tables, about_tables = read_set(options.tokens, "tables") if options.tables else ([], [])
    documents, about_documents = read_set(options.tokens, "documents") if options.documents else ([], [])
    for q in [*about_tables, *about_documents]:
        q["wrong"] = q["similar"]
    reader, step = Reader(), 0
    state = torch.load(last, map_location="cpu") if os.path.exists(last) else None
    if state:
        reader.load_state_dict(state["reader"])
        step = state["step"]
    elif options.start:
        go_on(reader, options.start)
    else:
        sample = random.Random(options.seed).sample(passages, 250)
        sample += [q["ids"] for q in questions[:: len(questions) // 250]]
        start(reader, options.model, options.gte, options.pieces, sample)
    reader.to(options.device).train()
    fixed = ("embedding", "positions", "shared")
    trained = {n: p for n, p in reader.named_parameters() if not n.startswith(fixed)}
    for name, parameter in reader.named_parameters():
        parameter.requires_grad = name in trained
    groups = [
        {"params": [p for p in trained.values() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in trained.values() if p.dim() == 1], "weight_decay": 0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=options.learning_rate, betas=(0.9, 0.98))
    if state:
        optimizer.load_state_dict(state["optimizer"])
    # Passages, batches, and the share of the questions whose passages are wrong. Of documents, some have no answer.
    paragraphs, made, written = (
        (read, batches(asked, read, options.questions, options.seed), unanswered)
        for read, asked, unanswered in (
            (passages, questions, options.unanswered),
            (tables, about_tables, options.unanswered),
            (documents, about_documents, 0.0),
        )
    )

    def read_next(draw):
        # Without tables and documents nothing is drawn, so that earlier trainings read what they have read.
        share = draw.random() if options.tables or options.documents else 1.0
        is_table, is_document = share < options.tables, share < options.tables + options.documents
        read, stream, unanswered = made if is_table else written if is_document else paragraphs
        return read, next(stream), unanswered

    for i in range(step):  # a resumed run goes on with the questions that it has not seen
        read_next(random.Random(f"{options.seed} {i}"))
    # Without AVX-512, bfloat16 takes several times as long.
    has_bfloat16 = options.device != "cpu" or torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    counts = [float(share) for share in options.counts.split(",")]
    began, sums = time.time(), [0.0, 0.0]
    while step < options.steps:
        draw = random.Random(f"{options.seed} {step}")
        read, asked, unanswered = read_next(draw)
        count = draw.choices(COUNTS, counts)[0]
        batch = batch_of(asked[::count], read, count, unanswered, draw, options.device)
        step += 1
        warm, left = step / WARM_UP, (options.steps - step + 1) / (options.decay * options.steps)
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * min(1, warm, left)
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=has_bfloat16):
            nll, copying = answer_losses(reader, batch, options.dropout)
        optimizer.zero_grad()
        (nll + copying).backward()
        torch.nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimizer.step()
        sums = [sums[0] + nll.item(), sums[1] + copying.item()]
        if step % 20 == 0:
            print(f"{step} nll {sums[0] / 20:.3f} copy {sums[1] / 20:.3f} {time.time() - began:.0f} s", flush=True)
            sums = [0.0, 0.0]
        if step % 100 == 0 or step == options.steps:
            torch.save({"reader": reader.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, f"{last}.new")
            os.replace(f"{last}.new", last)
    export(reader, f"{options.out}/reader.safetensors")


if __name__ == "__main__":
    main()
