"""Renames what several source files define for themselves under the same name."""

from collections import defaultdict
from pathlib import Path

from items import tokens_of


def is_source(file):
    return file.endswith(".cpp")


class Renamer:
    """The new names of each source file's own functions, types and constants that have the name of something else."""

    def __init__(self, sources, needed):
        self.sources = sources
        self.namespaces = sources.namespaces
        declared = defaultdict(list)  # what declares a name at namespace scope
        for item in needed.values():
            for name in item.names if not item.owner and item.kind != "macro" else ():
                declared[name].append(item)
        self.declared = declared
        taken = set(declared)
        self.names = defaultdict(dict)
        for name, items in sorted(declared.items()):
            for item in items:
                shared = any(other.file != item.file for other in items)
                if (
                    item.anonymous
                    and shared
                    and not self.is_using(item)
                    and is_source(item.file)
                    and not self.has_overloads(item, declared)
                ):
                    self.names[item.file][name] = self.new_name(name, item.file, taken)

    @staticmethod
    def is_using(item):
        """Whether an item only makes a name of another namespace visible."""
        return item.kind == "alias" and "=" not in item.text

    def has_overloads(self, item, functions):
        """Whether an item belongs to a set of overloaded functions, some of which come from a header."""
        if item.kind != "function":
            return False
        outer = [name for name in item.scope if name]
        return any(
            other.file != item.file
            and other.file in self.sources.visible[item.file]
            and [name for name in other.scope if name] == outer[: len([name for name in other.scope if name])]
            for other in functions[item.names[0]]
        )

    @staticmethod
    def new_name(name, file, taken):
        """Returns a name that nothing has."""
        path = Path(file)
        new = f"{name}_{path.stem}"
        if new in taken:
            new = f"{name}_{path.parent.name}_{path.stem}"
        taken.add(new)
        return new

    def apply(self, item, text):
        """Returns the text of an item with the new names."""
        names = self.names.get(item.file)
        if not names:
            return text
        if item.kind == "table":
            defines = "".join(f"#define {name} {new}\n" for name, new in names.items() if name == "table")
            return defines + text + ("\n#undef table" if defines else "")
        tokens = tokens_of(text)
        words = [token for token in tokens if token.kind not in ("space", "comment")]
        for i, token in enumerate(words):
            before = words[i - 1].text if i > 0 else ""
            if token.kind != "word" or token.text not in names or before in (".", "->"):
                continue
            if before != "::" or i < 2 or self.is_own(token.text, words[i - 2].text, item.file):
                token.text = names[token.text]
        return "".join(token.text for token in tokens)

    def is_own(self, name, qualifier, file):
        """Whether the name with the qualifier means the file's own item rather than a member or a header's item."""
        others = [
            other for other in self.declared[name] if other.file != file and other.file in self.sources.visible[file]
        ]
        return qualifier in self.sources.namespaces and not any(
            part.split("::")[-1] == qualifier for other in others for part in other.scope[-1:]
        )
