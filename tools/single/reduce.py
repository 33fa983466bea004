"""Leaves out of the source texts what running a model doesn't need: gradients, and computations in f64."""

import re

from items import SourceError

GRADIENT = re.compile(r"^( *)(void (?:\w+::)?backward\(Backward&)(?: \w+)?\) const (override )?\{(?:[^\n]*\}\n|\n.*?\n\1\}\n)",
                      re.MULTILINE | re.DOTALL)  # fmt: skip
GRADIENT_KERNEL = re.compile(r",?\s*\.(?:\w+ = backward<[^{}]*?>|\w*(?:backward|slope) = [\w<>]+)(?=[,}])")
REAL = "if (dtype == DType::f64) return f(static_cast<double*>(nullptr));"
NO_F64 = 'if (dtype == DType::f64) fail(op, "this build of weft computes in f32, but not in f64");'
COMPLEX = "if (a.dtype() == DType::c128) return complex_compute<double>(kind, a, b, shape);"
NO_C128 = 'if (a.dtype() == DType::c128) fail(name, "this build of weft computes in f32, but not in f64");'
TABLES = "WEFT_KERNEL_TABLE(Table, float) WEFT_KERNEL_TABLE(Table, double)"
INSTANCES = re.compile(r"^(?:template [^;{}]*<double>[^;{}]*;|WEFT_GEMM\(double\))\n", re.MULTILINE)


def without_gradients(text):
    """Empties the functions that compute gradients, and leaves their kernels out of the tables."""
    text = GRADIENT.sub(r"\1\2) const \3{}\n", text)
    return GRADIENT_KERNEL.sub("", text) if "_KERNEL_TABLE" in text else text


def without_f64(text):
    """Replaces computations in f64 by an Error."""
    text = text.replace(REAL, NO_F64).replace(COMPLEX, NO_C128).replace(TABLES, TABLES.split(") ")[0] + ")")
    return INSTANCES.sub("", text)


def reduced(texts, f64):
    """Returns the source texts without gradients and, unless f64 is true, without computations in f64."""
    texts = {file: without_gradients(text) for file, text in texts.items()}
    if f64:
        return texts
    for needed in (REAL, COMPLEX, TABLES):
        if not any(needed in text for text in texts.values()):
            raise SourceError(f"tools/single/reduce.py: no source has the text {needed}")
    return {file: without_f64(text) for file, text in texts.items()}
