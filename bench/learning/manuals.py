"""Running text and sentences of manual pages."""
import gzip
import re


BREAKS = (".SH", ".PP", ".TP", ".P", ".IP", ".LP")  # requests that begin a paragraph


def page_text(path, breaks=BREAKS):
    """Returns the running text of a manual page without roff requests, examples and font changes."""
    try:
        source = gzip.open(path, "rt", encoding="utf8").read()
    except (OSError, UnicodeDecodeError):
        return ""
    out, is_example = [], False
    for line in source.split("\n"):
        if line.startswith((".nf", ".EX")):
            is_example = True
        elif line.startswith((".fi", ".EE")):
            is_example = False
        elif is_example:
            continue
        elif line.startswith(breaks):
            out.append("\n")
        elif not line.startswith((".", "'")):
            out.append(line + " ")
    text = re.sub(r"\\f[A-Z]|\\f\(..|\\f\[[^\]]*\]", "", "".join(out))
    text = re.sub(r"\\\((\w\w)|\\\[[^\]]*\]", " ", text).replace("\\-", "-").replace("\\&", "")
    return re.sub(r"\\.", " ", text)


def sentences(text):
    for paragraph in text.split("\n"):
        for sentence in re.split(r"(?<=[.!?。])\s+|(?<=。)", re.sub(r"\s+", " ", paragraph)):
            sentence = sentence.strip()
            if 20 <= len(sentence) <= 200 and sum(c.isalpha() for c in sentence) >= 0.6 * len(sentence):
                yield sentence
