"""Compares weft with the packages whose checkpoints it reads, using models with random weights in many sizes and
lengths.

Both programs compute outputs and gradients of the same checkpoint. weft then writes the checkpoint back, and the
package reads it again. The package must find all tensors and print no warning. A function of a case yields the
description of its model, and then the largest error. See bench/interop/run."""
import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import torch
from safetensors.torch import load_file, save_file

ILL_CONDITIONED = []  # gradients for which the package's own f32 result is too far from its f64 result


class Failed(Exception):
    pass


def compare(name, ours, theirs, bound, dtype):
    ours, theirs = ours.double(), theirs.double()
    if ours.shape != theirs.shape:
        raise Failed(f"{name}: {tuple(ours.shape)} instead of {tuple(theirs.shape)}")
    largest = theirs.abs().max().item() if theirs.numel() else 0
    error = (ours - theirs).abs().max().item() if theirs.numel() else 0
    floor = 1e-12 if dtype == "f64" else 1e-6
    if not error <= bound * largest + floor:
        raise Failed(f"{name}: error {error:.3g} of {largest:.3g}")
    return bound * error / (bound * largest + floor)  # some gradients are zero


def ask(program, form, folder, scratch, inputs, dtype, task=None):
    save_file({name: value.contiguous() for name, value in inputs.items()}, f"{scratch}/in.safetensors")
    os.makedirs(f"{scratch}/out", exist_ok=True)
    command = [program, form, folder, f"{scratch}/in.safetensors", f"{scratch}/out", dtype] + ([task] if task else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return load_file(f"{scratch}/out/out.safetensors"), load_file(f"{scratch}/out/grad/model.safetensors")


def random_state(model):
    """Gives every trainable parameter random values, including biases and norm weights."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.uniform_(parameter, -0.5, 0.5)


def save_state(model, folder, config=None):
    os.makedirs(folder, exist_ok=True)
    save_file({name: value.detach().clone().contiguous() for name, value in model.state_dict().items()},
              f"{folder}/model.safetensors")
    if config is not None:
        with open(f"{folder}/config.json", "w") as file:
            json.dump(config, file)


def run(model, name, ids):
    """Computes the gradients. Returns the output and the inputs for weft."""
    out = model(ids)
    inputs = {"ids": ids, "d." + name: torch.randn(out.shape, dtype=torch.float64)}
    (out * inputs["d." + name].to(out.dtype)).sum().backward()
    return {name: out.detach()}, inputs


def exact_positions(model):
    """Recomputes the position table in f64. labml-nn's own table has f32 precision, which is too coarse for the
    comparison in f64."""
    table = model.src_embed.positional_encodings
    d = table.shape[-1]
    frequency = 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(table.shape[0], dtype=torch.float64)[:, None] / frequency
    table[:, 0, 0::2], table[:, 0, 1::2] = torch.sin(angle), torch.cos(angle)


def check(model, outputs, ours, slopes, dtype, scale=lambda name: 1.0, inputs=None):
    """Returns the largest relative error. If `inputs` is given (only for models that take nothing but ids),
    ill-conditioned gradients do not count: those for which the package's own f32 result is also too far from its f64
    result."""
    bound = 1e-9 if dtype == "f64" else 2e-5
    worst = max(compare(name, ours[name], value, bound, dtype) for name, value in outputs.items())
    exact = None
    for name, parameter in model.named_parameters():
        if parameter.grad is None or name not in slopes:
            continue
        try:
            worst = max(worst, compare("gradient of " + name, slopes[name] * scale(name), parameter.grad, bound, dtype))
        except Failed:
            exact = exact or (inputs and gradients(copy.deepcopy(model).double(), inputs))
            if dtype == "f64" or not exact or agrees(parameter.grad, exact[name], bound, dtype):
                raise
            ILL_CONDITIONED.append(name)
    return worst


def agrees(ours, theirs, bound, dtype):
    try:
        compare("", ours, theirs, bound, dtype)
        return True
    except Failed:
        return False


def gradients(model, inputs):
    model.zero_grad()
    (model(inputs["ids"]) * next(value for name, value in inputs.items() if name.startswith("d."))).sum().backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def huggingface_fnet(program, scratch, rng, dtype):
    model = random_huggingface_fnet(f"{scratch}/model", rng)
    model = model.double() if dtype == "f64" else model
    n, b = rng.choice([1, 2, 3, 7, 11, 13, 16, 17]), rng.choice([1, 2, 3])
    ids = torch.randint(model.config.vocab_size - 1, (b, n))
    ids += ids >= model.config.pad_token_id  # no padding ids, because their embedding has no gradient in transformers
    inputs = {"ids": ids, "types": torch.randint(model.config.type_vocab_size, (b, n))}
    outputs = huggingface_outputs(model, inputs)
    for name, value in outputs.items():
        inputs["d." + name] = torch.randn(value.shape, dtype=torch.float64)
    sum((value * inputs["d." + name].to(value.dtype)).sum() for name, value in outputs.items()).backward()
    yield f"{type(model).__name__} {n}x{model.config.hidden_size} {model.config.hidden_act}"
    ours, slopes = ask(program, "huggingface-fnet", f"{scratch}/model", scratch, inputs, dtype)
    worst = check(model, {name: value.detach() for name, value in outputs.items()}, ours, slopes, dtype)
    huggingface_again(model, f"{scratch}/out/back")
    yield worst


def random_huggingface_fnet(folder, rng):
    """Saves a random model of a random class in the folder. Returns the model that transformers loads from it."""
    import transformers

    transformers.logging.set_verbosity_warning()
    transformers.logging.disable_progress_bar()
    kind = rng.choice([transformers.FNetModel, transformers.FNetForMaskedLM, transformers.FNetForPreTraining,
                       transformers.FNetForNextSentencePrediction, transformers.FNetForSequenceClassification])
    config = transformers.FNetConfig(
        vocab_size=rng.choice([7, 31, 64]), hidden_size=rng.choice([6, 8, 13, 32]),
        num_hidden_layers=rng.choice([0, 1, 2, 3]),
        intermediate_size=rng.choice([5, 16, 40]), max_position_embeddings=rng.choice([17, 40]),
        type_vocab_size=rng.choice([2, 4]), hidden_act=rng.choice(["gelu_new", "gelu", "relu", "silu", "tanh"]),
        num_labels=rng.choice([2, 3, 5]), pad_token_id=3, hidden_dropout_prob=0.1,
        layer_norm_eps=rng.choice([1e-12, 1e-5]))
    if kind in (transformers.FNetForMaskedLM, transformers.FNetForPreTraining):
        config.tie_word_embeddings = rng.random() < 0.7
    model = kind(config).eval()
    random_state(model)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    model.save_pretrained(folder)
    return kind.from_pretrained(folder).eval()


def huggingface_outputs(model, inputs):
    """Returns the outputs with weft's names."""
    out = model(input_ids=inputs["ids"], token_type_ids=inputs["types"], output_hidden_states=True)
    logits = "words" if type(model).__name__ == "FNetForMaskedLM" else "classes"
    names = {"pooled": "pooler_output", "words": "prediction_logits", "classes": "seq_relationship_logits"}
    found = {"hidden": out.hidden_states[-1], **{ours: getattr(out, theirs, None) for ours, theirs in names.items()}}
    if getattr(out, "logits", None) is not None:
        found[logits] = out.logits
    return {name: value for name, value in found.items() if value is not None}


def huggingface_again(model, folder):
    """Loads the checkpoint that weft wrote, and compares the parameters."""
    kind = type(model)
    with warnings.catch_warnings(record=True) as told:
        back, info = kind.from_pretrained(folder, output_loading_info=True)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info.get(key):
            raise Failed(f"{kind.__name__} written back: {key} {info[key]}")
    if [w for w in told if "FNet" in str(w.message)]:
        raise Failed(f"{kind.__name__} written back: {told[0].message}")
    for (name, one), (_, two) in zip(model.state_dict().items(), back.state_dict().items()):
        # transformers does not read this bias if the embeddings are not tied. weft writes only the bias that
        # transformers reads.
        unread = name == "cls.predictions.bias" and not model.config.tie_word_embeddings
        if not unread and not torch.equal(one.float(), two.float()):
            raise Failed(f"{kind.__name__} written back: {name} differs")


def g_mlp_pytorch(program, scratch, rng, dtype):
    from g_mlp_pytorch import gMLP

    # The package's embedding is √dim times weft's, and weft stores it in f32. In f64, √dim is a power of two here, so
    # nothing is rounded.
    causal, dim = rng.random() < 0.5, rng.choice([4, 16] if dtype == "f64" else [6, 8, 14])
    sizes = dict(num_tokens=rng.choice([7, 31]), dim=dim, depth=rng.choice([1, 2, 3]),
                 seq_len=rng.choice([3, 7, 11, 16]), ff_mult=rng.choice([2, 4]), causal=causal)
    model = gMLP(**sizes).eval()
    random_state(model)
    save_state(model, f"{scratch}/model")
    model = model.double() if dtype == "f64" else model
    n = rng.randint(1, sizes["seq_len"]) if causal else sizes["seq_len"]
    outputs, inputs = run(model, "words", torch.randint(sizes["num_tokens"], (rng.choice([1, 2, 3]), n)))
    yield f"gMLP causal={causal} {n}x{dim}"
    ours, slopes = ask(program, "g-mlp-pytorch", f"{scratch}/model", scratch, inputs, dtype,
                       "causal-lm" if causal else "masked-lm")
    # The package's embedding is √dim times weft's, so its gradient is weft's divided by √dim. weft's format multiplies
    # the gradient by √dim, like any tensor of this name. The factor 1 / dim corrects both.
    worst = check(model, outputs, ours, slopes, dtype, lambda name: 1 / dim if name == "to_embed.weight" else 1)
    gMLP(**sizes).load_state_dict(load_file(f"{scratch}/out/back/model.safetensors"))
    yield worst


def labml_gmlp(program, scratch, rng, dtype):
    from labml_models import GmlpLanguageModel

    sizes = (rng.choice([6, 8, 14]), rng.choice([8, 12]), rng.choice([3, 7, 11, 16]), rng.choice([1, 2]),
             rng.choice([7, 31]))
    model = GmlpLanguageModel(*sizes).eval()
    random_state(model)
    save_state(model, f"{scratch}/model")
    if dtype == "f64":
        exact_positions(model.double())
    n = rng.randint(1, sizes[2])
    ids = torch.randint(sizes[4], (rng.choice([1, 2, 3]), n))
    outputs, inputs = run(lambda x: model(x.T).transpose(0, 1), "words", ids)
    yield f"labml gMLP {n}x{sizes[0]}"
    ours, slopes = ask(program, "labml-gmlp", f"{scratch}/model", scratch, inputs, dtype)
    worst = check(model, outputs, ours, slopes, dtype)
    GmlpLanguageModel(*sizes).load_state_dict(load_file(f"{scratch}/out/back/model.safetensors"))
    yield worst


def labml_fnet(program, scratch, rng, dtype):
    from labml_models import FNetClassifier

    d, vocabulary = rng.choice([6, 8, 14]), rng.choice([7, 31])
    sizes = (d, rng.choice([5, 16]), rng.choice([0, 1, 2, 3]), vocabulary, rng.choice([2, 4]))
    model = FNetClassifier(*sizes)
    random_state(model)
    save_state(model, f"{scratch}/model")
    if dtype == "f64":
        exact_positions(model.double())
    n = rng.choice([1, 2, 3, 7, 11, 16])
    outputs, inputs = run(model, "classes", torch.randint(vocabulary, (rng.choice([1, 2, 3]), n)))
    yield f"labml FNet {n}x{d}"
    ours, slopes = ask(program, "labml-fnet", f"{scratch}/model", scratch, inputs, dtype)
    worst = check(model, outputs, ours, slopes, dtype, inputs=inputs)
    FNetClassifier(*sizes).load_state_dict(load_file(f"{scratch}/out/back/model.safetensors"))
    yield worst


def tnn_arguments(rng):
    """Returns random options, which both TNN formats have."""
    decay = rng.choice(["none", "one", "one", "many"])
    normalize = rng.random() < 0.2  # divides by the sum of the coefficients
    act = lambda: rng.choice(["silu", "gelu", "elu", "leak", "sigmoid", "1+elu", "none"])
    return {"act_fun": act(), "use_norm": rng.random() < 0.4, "norm_type": rng.choice(["layernorm", "simplermsnorm"]),
            "use_decay": decay == "one", "use_multi_decay": decay == "many", "gamma": rng.choice([0.9, 0.99, 1.0]),
            "rpe_embedding": rng.choice([3, 8]), "rpe_layers": rng.choice([0, 1, 3]),
            "rpe_act": rng.choice(["relu", "silu"]), "residual": rng.random() < 0.4, "par_type": rng.choice([1, 1, 2]),
            "normalize": normalize, "causal": True,
            "act_type": "exp" if normalize else rng.choice(["none", "none", "silu"]), "glu_act": act(),
            "bias": True, "expand_ratio": rng.choice([1, 1.34, 3]), "fina_act": "None"}


def back_again(scratch, make, inputs, outputs, dtype):
    """Loads the checkpoint and the arguments that weft wrote, and compares the outputs."""
    with open(f"{scratch}/out/back/config.json") as file:
        model = make(json.load(file))
    model.load_state_dict(load_file(f"{scratch}/out/back/model.safetensors"))
    model = model.double() if dtype == "f64" else model
    with torch.no_grad():
        compare("written back", model(inputs["ids"]), outputs["words"], 1e-6, "f32")


def fairseq_tnn(program, scratch, rng, dtype):
    from tnn_reference import FairseqLanguageModel

    d, vocabulary = rng.choice([6, 8, 14]), rng.choice([7, 31])
    args = {**tnn_arguments(rng), "decoder_embed_dim": d, "decoder_layers": rng.choice([1, 2]), "glu_type": 1,
            "decoder_attention_heads": rng.choice([1, 2]), "decoder_normalize_before": True,
            "glu_dim": rng.choice([-1, 5]),
            "share_decoder_input_output_embed": rng.random() < 0.4, "no_token_positional_embeddings": True,
            "optimizer": "adam", "adam_betas": "(0.9, 0.98)", "lr": [0.0005]}
    model = FairseqLanguageModel(vocabulary, args)
    random_state(model)
    save_state(model, f"{scratch}/model", args)
    model = model.double() if dtype == "f64" else model
    n = rng.choice([1, 2, 3, 7, 11, 16, 23])
    outputs, inputs = run(model, "words", torch.randint(vocabulary, (rng.choice([1, 2, 3]), n)))
    yield f"fairseq TNN {n}x{d}"
    ours, slopes = ask(program, "fairseq-tnn", f"{scratch}/model", scratch, inputs, dtype)
    worst = check(model, outputs, ours, slopes, dtype, inputs=inputs)
    back_again(scratch, lambda a: FairseqLanguageModel(vocabulary, a), inputs, outputs, dtype)
    yield worst


def tnn_pytorch(program, scratch, rng, dtype):
    from tnn_reference import TnnModel

    task = rng.choice(["causal-lm", "masked-lm", "classifier"])
    d, vocabulary, layers = rng.choice([6, 8, 14]), rng.choice([7, 31]), rng.choice([1, 2])
    args = tnn_arguments(rng)
    args.update(dim=d, num_heads=rng.choice([1, 2]), glu_dim=rng.choice([5, d]), prenorm=rng.random() < 0.6,
                gtu_act=args["act_fun"], causal=task == "causal-lm", bias=rng.random() < 0.7)
    around = dict(final_norm=rng.choice(["layernorm", "simplermsnorm"]), tied=rng.random() < 0.5,
                  classes=3 if task == "classifier" else 0)
    make = lambda a: TnnModel(vocabulary, layers, a, **around)
    model = make(args)
    random_state(model)
    save_state(model, f"{scratch}/model", args)
    model = model.double() if dtype == "f64" else model
    n = rng.choice([1, 2, 3, 7, 11, 16, 23])
    outputs, inputs = run(model, "words", torch.randint(1, vocabulary, (rng.choice([1, 2, 3]), n)))
    yield f"tnn-pytorch {task} {n}x{d}"
    ours, slopes = ask(program, "tnn-pytorch", f"{scratch}/model", scratch, inputs, dtype, task)
    worst = check(model, outputs, ours, slopes, dtype, inputs=inputs)
    back_again(scratch, make, inputs, outputs, dtype)
    yield worst


def try_models(name, dtype, options):
    """Compares random models of a case. Returns the number of models that disagree."""
    good, worst = 0, 0.0
    ILL_CONDITIONED.clear()
    for k in range(options.repeat):
        torch.manual_seed(k)
        with tempfile.TemporaryDirectory() as scratch:
            compared = globals()[name](options.program, scratch, random.Random(f"{options.seed} {name} {k}"), dtype)
            try:
                description = next(compared)
                good, worst = good + 1, max(worst, next(compared))
            except ImportError as error:
                print(f"{name}: skipped, {error}")
                return 0
            except Failed as error:
                print(f"{name} {dtype} model {k}, {description}: {error}")
    besides = (f"; {len(ILL_CONDITIONED)} gradients are inaccurate in the package's own f32 and do not count"
               if ILL_CONDITIONED else "")
    print(f"{name} {dtype}: {good} of {options.repeat} models agree, largest error {worst:.2g} of the largest value of "
          f"its tensor{besides}")
    return options.repeat - good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the program built from bench/interop/answer.cpp")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--repeat", type=int, required=True, help="number of models of each case and dtype")
    parser.add_argument("cases", nargs="+", help="functions of this program")
    options = parser.parse_args()
    return 1 if sum(try_models(name, dtype, options) for name in options.cases for dtype in ("f64", "f32")) else 0


if __name__ == "__main__":
    sys.exit(main())
