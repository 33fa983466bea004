"""Writes the needed items as one header and one source file."""

import re

from rename import Renamer
from sources import guard_of

DROPPED = re.compile(r"[ \t]*/// \\(?:end)?cond\n?")
UNIT_CHECK = re.compile(r"^ *static_assert\(weft::detail::is_unit_of\(.*\\\n", re.MULTILINE)


def balanced(items, kept):
    """Returns the items to write, in order: the kept ones, and the lines of the preprocessor around them."""
    groups = [[]]
    for item in items:
        if item.kind == "if":
            groups.append([item])
        elif item.kind == "endif":
            group = groups.pop()
            if any(each.kind not in ("if", "else") for each in group):
                groups[-1] += group + [item]
        elif item.kind == "else" or kept(item):
            groups[-1].append(item)
    return groups[0]


class Writer:
    """Collects the text of one file."""

    def __init__(self, sources, needed, written):
        self.sources, self.needed = sources, needed
        self.written = written  # what is written already: items, and texts of includes and directives
        self.renamer = Renamer(sources, needed)
        self.scope, self.parts = (), []

    def text(self):
        """Returns the file."""
        self.enter(())
        return re.sub(r"\n{3,}", "\n\n", "".join(self.parts))

    def files(self, roots):
        """Writes files, and before each of them the files that it includes."""
        for file in roots:
            if file in self.written:
                continue
            self.written.add(file)
            self.files(self.sources.includes[file])
            self.file(file)

    def file(self, file):
        """Writes what is needed of a file."""
        items = self.sources.items[file]
        if not any(id(item) in self.needed and id(item) not in self.written for item in items):
            return
        guard = guard_of(file)
        to_write = balanced(items, self.is_kept)
        self.enter(())
        self.parts.append(f"\n{guard}\n" if guard else "\n")
        for item in to_write:
            self.item(item)
        self.enter(())
        if file.endswith(".cpp"):
            self.forget_macros(to_write)
        if guard:
            self.parts.append("#endif\n")

    def is_kept(self, item):
        """Whether an item is written: the needed ones, and the lines of the preprocessor that they may need."""
        if id(item) in self.written:
            return False
        if item.kind == "include":
            return "<" in item.text
        if item.kind == "using":
            return True
        if item.kind == "other":
            return self.is_about_needed(item)
        if item.kind == "undef":
            return True
        return item.kind != "pragma" and id(item) in self.needed

    def is_about_needed(self, item):
        """Whether all that a static_assert mentions is needed."""
        for word in item.free:
            found = [
                other
                for file in self.sources.visible[item.file]
                for other in self.sources.items[file]
                if word in other.names
            ]
            if found and not any(id(other) in self.needed for other in found):
                return False
        return True

    def item(self, item):
        """Writes an item in its namespace."""
        if item.kind == "include" or item.kind == "using":
            outside = not item.scope or item.kind == "using"
            if outside and (item.scope, item.text) in self.written:
                return
            self.written.add((item.scope, item.text))
        self.enter(item.scope)
        self.written.add(id(item))
        text = self.renamer.apply(item, UNIT_CHECK.sub("", DROPPED.sub("", item.text)))
        self.parts.append(("\n" if item.gap else "") + text.rstrip("\n") + "\n")

    def enter(self, scope):
        """Closes and opens namespaces."""
        common = 0
        while common < min(len(scope), len(self.scope)) and scope[common] == self.scope[common]:
            common += 1
        for name in reversed(self.scope[common:]):
            label = f" {name}" if name else ""
            self.parts.append(f"}}  // namespace{label}\n" if not name.startswith("extern") else "}\n")
        for name in scope[common:]:
            self.parts.append(
                f"\nnamespace {name} {{\n".replace("  ", " ") if not name.startswith("extern") else f"{name} {{\n"
            )
        self.scope = scope

    def forget_macros(self, items):
        """Undefines the macros of a source file."""
        defined = dict.fromkeys(item.names[0] for item in items if item.kind == "macro")
        for item in items:
            if item.kind == "undef":
                defined.pop(item.names[0], None)
        self.parts += [f"#undef {name}\n" for name in defined]
