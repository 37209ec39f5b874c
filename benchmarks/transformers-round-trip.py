"""Whether transformers reads what reatt writes, and reatt what transformers writes. It is for
development only: nothing of the package, its installation or its tests needs Python.

    python3 benchmarks/transformers-round-trip.py

A random T5 v1.0 and v1.1 of transformers, saved with `tokenizer.json` alone, go through `reatt
convert` and back. Weights, logits and token ids have to be equal, and those of `ReAtt.load` too.
Needs torch, transformers, sentencepiece and protobuf.
"""

import json
import pathlib
import subprocess
import tempfile

import torch
import transformers
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

REPOSITORY = pathlib.Path(__file__).parent.parent
SPIECE = REPOSITORY / "test/fixtures/t5"
TEXTS = [
    "Where is  the Café №5? “ﬁne”",
    "question: who <extra_id_0> the rivers",
    "Ein Satz über 1,234.5 Größen — 東京 🦉",
]
SIZES = dict(
    vocab_size=32128, d_model=32, d_kv=8, d_ff=64, num_layers=4, num_decoder_layers=2, num_heads=4,
    decoder_start_token_id=0,
)
KINDS = {
    "v1.0": dict(feed_forward_proj="relu", tie_word_embeddings=True),
    "v1.1": dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}
IDS = """
import { ReAtt } from "./src/index.ts";
const model = await ReAtt.load(process.argv[1]);
console.log(JSON.stringify(JSON.parse(process.argv[2]).map((text) => model.tokenizer.encode(text))));
await model[Symbol.asyncDispose]();
"""


def node(*arguments):
    command = ["node", "--import", "tsx", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout


def logits(model, tokenizer):
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        return model.eval()(**batch, labels=batch.input_ids).logits


def round_trip(kind, folder):
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(T5Config(**SIZES, **KINDS[kind]))
    if kind == "v1.1":  # transformers 5 ties the two
        model.lm_head = torch.nn.Linear(SIZES["d_model"], SIZES["vocab_size"], bias=False)
    tokenizer = T5Tokenizer.from_pretrained(SPIECE)
    before, after = folder / f"{kind}-before", folder / f"{kind}-after"
    model.save_pretrained(before)
    tokenizer.save_pretrained(before)
    convert = ["convert", "--model", str(before), "--precision", "fp32", "--out", str(after)]
    node("src/cli/main.ts", *convert)
    again, info = T5ForConditionalGeneration.from_pretrained(after, output_loading_info=True)
    found = T5Tokenizer.from_pretrained(after)
    weights, others = model.state_dict(), again.state_dict()
    ids = [tokenizer(text, add_special_tokens=False).input_ids for text in TEXTS]
    ours = json.loads(node("--input-type=module", "--eval", IDS, "--", str(after), json.dumps(TEXTS)))
    return {
        "no key missing or unexpected": not any(info[key] for key in ("missing_keys", "unexpected_keys")),
        "equal weights": all(torch.equal(value, others[name]) for name, value in weights.items()),
        "equal logits": torch.equal(logits(model, tokenizer), logits(again, found)),
        "equal ids": ids == [found(text, add_special_tokens=False).input_ids for text in TEXTS],
        "equal ids in reatt": ids == ours,
    }


print("transformers", transformers.__version__)
with tempfile.TemporaryDirectory() as folder:
    results = {kind: round_trip(kind, pathlib.Path(folder)) for kind in KINDS}
for kind, checks in results.items():
    for check, holds in checks.items():
        print(f"{kind}: {check}: {'yes' if holds else 'NO'}")
raise SystemExit(0 if all(holds for checks in results.values() for holds in checks.values()) else 1)
