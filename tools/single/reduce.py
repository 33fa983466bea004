"""Changes the source texts: leaves out what running a model does not need, and adds a check of the options."""

import re

from items import SourceError

GRADIENT = re.compile(
    r"^( *)(void (?:\w+::)?backward\(Backward&)(?: \w+)?\) const (override )?\{(?:[^\n]*\}\n|\n.*?\n\1\}\n)",
    re.MULTILINE | re.DOTALL,
)
GRADIENT_KERNEL = re.compile(r",?\s*\.(?:\w+ = backward<[^{}]*?>|\w*(?:backward|slope) = [\w<>]+)(?=[,}])")
# For each type of elements: the statements that choose it; the types of the functions that are instantiated for it; and
# the part of a macro that makes tables of kernels for it.
STATEMENTS = {
    "f64": [
        "return f(static_cast<double*>(nullptr));",
        "return complex_compute<double>(kind, a, b, shape);",
        "frames = log_mel(sound.samples, input.sound);",
    ],
    "bf16": [
        "return f(static_cast<bfloat16*>(nullptr));",
        "product<bfloat16>(x, panels, weight, dense_bias, epilogue, y);",
    ],
}
SAVE = "save_checkpoint(path, *checkpoint.model, *checkpoint.tokenizer, checkpoint.info);"
ELEMENTS = {"f64": "double", "bf16": "bfloat16|Bf16ToF32"}
TABLES = {"f64": " WEFT_KERNEL_TABLE(Table, double)", "bf16": " WEFT_KERNEL_TABLE(Table, weft::bfloat16)"}
BEST_ISA = "Isa best_isa() {\n"
# On a CPU with fused multiply-adds, a compiler uses them for a b + c unless it must not, which changes the results.
CHECK = """\
static void check_products() {
  const volatile double a = 1 + 0x1p-30, b = 1 - 0x1p-30;  // a b is 1 - 2^-60, which rounds to 1
  const double x = a, y = b;
  if (x * y - 1 != 0) throw Error("[weft] weft.cpp must be compiled with -ffp-contract=off");
}

"""


def without_gradients(text):
    """Empties the functions that compute gradients, and leaves their kernels out of the tables."""
    text = GRADIENT.sub(r"\1\2) const \3{}\n", text)
    return GRADIENT_KERNEL.sub("", text) if "_KERNEL_TABLE" in text else text


def refusal(what, option):
    """Returns a statement that throws an Error."""
    return f'throw Error("[weft] this weft.cpp does not {what} (tools/amalgamate {option})");'


def without_type(text, name):
    """Replaces computations with elements of a type by an Error."""
    for statement in STATEMENTS[name]:
        text = text.replace(statement, refusal(f"compute in {name}", f"--types f32,{name}"))
    elements = rf"(?:weft::)?(?:detail::)?(?:{ELEMENTS[name]})\b"
    instance = rf"template [^;{{}}]*<(?:const )?{elements}[^;{{}}]*;|WEFT_\w+\((?:\w+, )?{elements}\)"
    text = re.sub(rf"^(?:{instance})\n", "", text, flags=re.MULTILINE)
    return text.replace(TABLES[name], "")


def with_check(text):
    """Lets the choice of the instruction set check the compiler's options."""
    return text.replace("\n" + BEST_ISA, "\n" + CHECK + BEST_ISA + "  check_products();\n")


def reduced(texts, types, saves):
    """Returns the sources without gradients, without other types than `types`, and if not `saves`, without saving."""
    absent = [name for name in STATEMENTS if name not in types]
    needed = [part for name in absent for part in [*STATEMENTS[name], TABLES[name]]] + [SAVE, BEST_ISA]
    for part in needed:
        if not any(part in text for text in texts.values()):
            raise SourceError(f"tools/single/reduce.py: no source has the text {part}")
    texts = {file: with_check(without_gradients(text)) for file, text in texts.items()}
    for name in absent:
        texts = {file: without_type(text, name) for file, text in texts.items()}
    if saves:
        return texts
    return {
        file: text.replace(SAVE, refusal("save checkpoints", "--with save_checkpoint")) for file, text in texts.items()
    }
