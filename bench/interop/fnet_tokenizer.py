"""Compares weft's tokenizer for Hugging Face's FNet with that of transformers, id by id. See bench/interop/run.

The program trains a SentencePiece model on texts. Then weft and transformers tokenize lines of these texts, difficult
texts, and random characters. For each setting of accents and case, there are two folders: one with spiece.model and one
with only tokenizer.json, as transformers 5 writes it. weft writes each folder back, and transformers then writes the
result again. The reference is AlbertConverter, which transformers uses to make tokenizer.json from spiece.model.
AutoTokenizer also uses it to read the folders.

The comparison leaves out these known differences:
- spaces before [SEP], because weft treats [SEP] as the separator of two texts;
- characters that are not in Unicode 3.2, because the programs use tables of different Unicode versions;
- tokenizations of a word that are equally probable;
- characters with several combining marks if accents are kept. The package tokenizers drops all marks except the first
  one, and SentencePiece keeps them.
"""
import argparse
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import types
import unicodedata

import sentencepiece
import transformers
from transformers.convert_slow_tokenizer import AlbertConverter

PAD, CLS, SEP = 3, 4, 5  # as in google/fnet-base
HARD = [
    "", " ", "  ", "a", " a", "a ", "  two  spaces ", "tab\there", "line\nend\n",
    "\u00a0no\u00a0break\u3000wide ", "\u3000",
    "Zoë naïve café ÀÖØ", "e\u0301\u0323x", "x \u0301y", "ﬁ ﬀ ½ ① ™ …", "ＡＢ～ 𝐀𝒛𝟘 ｶﾞ", "한글 가 漢字 日本語",
    "😀 hello 🎉👨\u200d👩\u200d👧",
    "``quoted'' and ''more``", "` `` ``` ''''", "the [MASK] man", "the[MASK]man", "the \u3000[MASK], man",
    "[MASK] [MASK]", "[MASK][MASK]", "a [CLS] b", "[CLS] [CLS]", "<pad> <unk> <s> </s>", "x<s>y", "a<unk>b", "[MASK",
    "MASK]", "[[MASK]]", "1,000,000 and 7, 8,9", "in 2004, 5,", "control \x01\x02 chars \x7f", "\x7f", "\x7f \x7f",
    "\x1f\x1cseparators\x1d ", "soft\u00adhyphen zero\u200bwidth\ufeff", "\u2581mark \u2581", "a\u2581b",
    "\u2581\u2581", "ไทย ก่ นी क़", "ИЙ й ё ЯД", "ß ẞ İ ı ΑΣ Σς ǅ K",
    "\u0344 \u1fbf \u02dc \u00a8 \u00b4", "[mask] [Mask]", "\ufffd \ufffc", "\u2028line\u2029para",
    "a\u0085b \u0085", "㌀ ㍿ ﷺ", "שׁלוֹם مُحَمَّد", "a" * 600,
]
PAIRS = [("the king", "a man"), ("", "b"), ("one, two", "Três"), ("the [MASK] man", "b c ")]


def lines_of(files):
    for file in files:
        yield from (line.strip("\r\n") for line in open(file, encoding="utf-8", errors="ignore", newline="\n")
                   if line.strip() and "[SEP]" not in line)


def random_texts(rng, count):
    letters = "abcXYZ 0123,.'`\"[]MASK<>/éüßñ漢字한😀\u0301\u00a0\t\n▁-ﬁ½"
    return ["".join(rng.choice(letters) for _ in range(rng.randint(1, 30))) for _ in range(count)]


def every_character():
    old = unicodedata.ucd_3_2_0.category
    codes = itertools.chain(range(0x20, 0x3100), range(0x4e00, 0x4e40), range(0xac00, 0xac40), range(0xf900, 0x10000),
                            range(0x10400, 0x10450), range(0x1d400, 0x1d800, 5))
    return [f"a{chr(c)}b {chr(c)}" for c in codes if old(chr(c)) not in ("Cn", "Cs", "Co")]


def learn(lines, folder, size):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=f"{folder}/spiece", vocab_size=size, hard_vocab_limit=False,
        pad_id=PAD, unk_id=0, bos_id=1, eos_id=2, control_symbols=["[CLS]", "[SEP]", "[MASK]"], num_threads=1,
        minloglevel=2, max_sentence_length=20000)
    return sentencepiece.SentencePieceProcessor(model_file=f"{folder}/spiece.model")


def weft_ids(program, folder, back, texts):
    stdin = b"".join(b"%d\n%s" % (len(text.encode()), text.encode()) for text in texts)
    done = subprocess.run([program, folder, back], input=stdin, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{folder}: {done.stderr.decode()}")
    return [[int(id) for id in line.split()] for line in done.stdout.decode().split("\n")[:-1]]


def prepare(folder, pieces, settings, reference, alone):
    """Makes a folder with the tokenizer in spiece.model or, if `alone`, only in tokenizer.json."""
    config = transformers.FNetConfig(vocab_size=pieces.get_piece_size(), hidden_size=4, num_hidden_layers=0,
                                     intermediate_size=4)
    transformers.FNetModel(config).save_pretrained(folder)
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({**settings, "tokenizer_class": "FNetTokenizer", "remove_space": not alone}, file)
    if alone:
        reference.save(f"{folder}/tokenizer.json")
    else:
        with open(f"{folder}/spiece.model", "wb") as file:
            file.write(pieces.serialized_model_proto())


def differing(name, pieces, texts, ours, theirs):
    """Returns the number of texts whose ids differ. A few ties (equally probable tokenizations) do not count."""
    count = ties = 0
    for text, a, b in zip(texts, ours, theirs, strict=True):
        if a == b:
            continue
        if sorted(a) == sorted(b):
            ties += 1
            continue
        count += 1
        if count <= 5:
            print(f"{name}: {text!r}: {pieces.id_to_piece(a)}, transformers has {pieces.id_to_piece(b)}")
    print(f"{name}: {len(texts) - count} of {len(texts)} texts agree"
          + (f", {ties} of them except for a tie" if ties else ""))
    return count + (ties if ties > 2 + len(texts) // 500 else 0)


def compare(program, scratch, pieces, settings, texts):
    converted = AlbertConverter(types.SimpleNamespace(
        vocab_file=f"{scratch}/spiece.model", convert_tokens_to_ids=pieces.piece_to_id, **settings)).converted()
    named = [transformers.AddedToken(name, normalized=False) for name in ("<unk>", "<pad>", "[CLS]", "[SEP]")]
    converted.add_special_tokens([*named, transformers.AddedToken("[MASK]", lstrip=True, normalized=False)])
    if settings["keep_accents"]:
        texts = [text for text in texts if not any(unicodedata.category(c)[0] == "M" for c in text)]
    theirs = [ids.ids[1:-1] for ids in converted.encode_batch(texts)]
    paired = [converted.encode(a, b) for a, b in PAIRS]
    name = ", ".join(key for key, on in settings.items() if on) or "accents removed"
    failed = 0
    for alone in (False, True):
        folder = tempfile.mkdtemp(dir=scratch)
        prepare(folder, pieces, settings, converted, alone)
        kind = "tokenizer.json" if alone else "spiece.model"
        ours = weft_ids(program, folder, folder + "-back", texts)
        failed += differing(f"{name}; {kind}", pieces, texts, ours, theirs)
        read = transformers.AutoTokenizer.from_pretrained(folder + "-back")
        framed = [[CLS] + ids + [SEP] for ids in theirs]
        failed += differing(f"{name}; {kind}, written by weft", pieces, texts, read(texts)["input_ids"], framed)
        for (a, b), want in zip(PAIRS, paired):
            got = read(a, b)
            failed += got["input_ids"] != want.ids or got["token_type_ids"] != want.type_ids
        joined = weft_ids(program, folder, folder + "-back", [f"{a} [SEP] {b}" for a, b in PAIRS])
        framed = [[CLS] + ids + [SEP] for ids in joined]
        failed += differing(f"{name}; {kind}, pairs", pieces, PAIRS, framed, [want.ids for want in paired])
        shutil.copytree(folder, folder + "-again")
        for file in ("spiece.model", "tokenizer.json", "tokenizer_config.json"):
            pathlib.Path(folder + "-again", file).unlink(missing_ok=True)
        read.save_pretrained(folder + "-again")
        again = weft_ids(program, folder + "-again", folder + "-last", texts)
        failed += differing(f"{name}; {kind}, written by weft and then by transformers", pieces, texts, again, ours)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the program built from bench/interop/encode.cpp")
    parser.add_argument("--texts", action="append",
                        help="text files for training and for the comparison (default: weft's pages)")
    parser.add_argument("--size", type=int, default=8000, help="maximum number of pieces in the vocabulary")
    parser.add_argument("--lines", type=int, default=2000, help="number of lines of the texts to compare")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    root = pathlib.Path(__file__).parents[2]
    lines = list(lines_of(options.texts or sorted([*root.glob("*.md"), *root.glob("*/README.md")])))
    lines += ["Zoë naïve café über ÀÖØ résumé façade ÉTÉ", "漢字 日本語 中文", "ИЙ й ё яд ΑΣ ας", "emoji 😀 smile 🎉"] * 40
    rng = random.Random(1)
    texts = rng.sample(lines, min(len(lines), options.lines)) + HARD + random_texts(rng, 1000) + every_character()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        pieces = learn(lines, scratch, options.size)
        for keep_accents, lower in itertools.product((False, True), repeat=2):
            settings = {"keep_accents": keep_accents, "do_lower_case": lower}
            failed += compare(options.program, scratch, pieces, settings, texts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
