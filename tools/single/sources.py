"""Finds weft's source files, their includes and their items, for chosen architectures."""

import re
from pathlib import Path

from isas import inlined_list
from items import Divider, SourceError
from reduce import reduced

ROOMS = ("engine", "ops", "models")
SKIPPED = (
    "models/sentencepiece/",
    "models/examples/",
    "models/annotated/",
    "models/include/weft/weft.h",
    "engine/include/weft/visibility.h",
)
# One program has nothing to export.
VISIBILITY = re.compile(r'^#include "weft/visibility.h"\n|^WEFT_PUBLIC_(?:BEGIN|END)\n|\bWEFT_HIDDEN ', re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
LIST = re.compile(r"(static Registry<\w+> made = \{)((?:\s+[\w:]+\(\),)+)(\s*\};)")
# The sources of which a build compiles one: by the operating system, and by the source of threads.
GUARDS = {
    "engine/system/linux/": "#if !defined(_WIN32) && !defined(__APPLE__) && !defined(__EMSCRIPTEN__)",
    "engine/system/posix/pages": "#if !defined(_WIN32) && !defined(__EMSCRIPTEN__)",
    "engine/system/posix/": "#if !defined(_WIN32)",
    "engine/system/macos/": "#if defined(__APPLE__)",
    "engine/system/windows/": "#if defined(_WIN32)",
    "engine/system/wasm/": "#if defined(__EMSCRIPTEN__)",
    "engine/context/backend_openmp.cpp": "#if defined(_OPENMP)",
    "engine/context/backend_pool.cpp": "#if !defined(_OPENMP)",
}
OWN_FORMAT = ("models/formats/formats.h", "models/formats/weft_format.cpp")
NEVER = ("engine/context/backend_serial.cpp",)


def guard_of(file):
    """Returns the condition under which a build compiles the file, or an empty text."""
    return next((guard for path, guard in GUARDS.items() if file.startswith(path)), "")


def room_of(file):
    """Returns the module of a file."""
    return file.split("/")[0]


def is_public(file):
    """Whether the file is a public header."""
    return "/include/weft/" in file


def architectures_in(root):
    """Returns the names of all architectures: those whose headers the list of architectures includes."""
    headers = [Path(name).stem for name in INCLUDE.findall((Path(root) / "models/architecture.cpp").read_text())]
    return [name for name in headers if (Path(root) / "models" / name).is_dir()]


class Sources:
    """The source files of weft: their items, and which of them sees which."""

    def __init__(self, root, architectures, types, formats, saves):
        self.root = Path(root)
        self.texts = {}
        for room in ROOMS:
            for path in sorted((self.root / room).rglob("*")):
                name = path.relative_to(self.root).as_posix()
                if path.suffix in (".cpp", ".h") and not name.startswith(SKIPPED + NEVER):
                    self.texts[name] = VISIBILITY.sub("", path.read_text())
        self.texts = reduced(self.texts, types, saves)
        self.includes = {file: self.included(file) for file in self.texts}
        self.leave_out(architectures, formats)
        self.namespaces = {
            part
            for text in self.texts.values()
            for names in re.findall(r"^ *(?:inline )?namespace ([\w:]+)", text, re.M)
            for part in names.split("::")
        } | {"WEFT_ISA"}
        isas = inlined_list(self.root)
        self.items = {}
        for file, text in self.texts.items():
            text = re.sub(r'^#include "weft/isas.def"\n', lambda _: isas, text, flags=re.MULTILINE)
            self.items[file] = Divider(file, text, self.namespaces).run()
        self.visible = {}
        for file in self.texts:
            self.see(file)

    def resolve(self, file, name):
        """Returns the file that an #include in `file` names."""
        for room in dict.fromkeys((room_of(file),) + ROOMS):
            for folder in ("", "include/", "internal/"):
                if f"{room}/{folder}{name}" in self.texts:
                    return f"{room}/{folder}{name}"
        if name.endswith(".def"):
            return None
        raise SourceError(f'{file}: found no file for #include "{name}"')

    def included(self, file):
        """Returns the files that a file includes, in order."""
        found = [self.resolve(file, name) for name in INCLUDE.findall(self.texts[file])]
        return [name for name in dict.fromkeys(found) if name]

    def see(self, file):
        """Returns the set of files that a file includes directly or indirectly, and itself."""
        if file not in self.visible:
            self.visible[file] = {file}.union(*(self.see(name) for name in self.includes[file]))
        return self.visible[file]

    def leave_out(self, architectures, formats):
        """Removes other architectures and formats, the files that need them, and their entries in tables of names."""
        others = [name for name in architectures_in(self.root) if name not in architectures]
        out = set() if formats == "all" else set(self.in_folder("models/formats/")) - set(OWN_FORMAT)
        for name in others:
            out |= {*self.in_folder(f"models/{name}/"), f"models/include/weft/{name}.h"}
        tables = {file for file, text in self.texts.items() if LIST.search(text)}
        while True:
            more = {file for file in self.texts if file not in tables and out.intersection(self.includes[file])} - out
            if not more:
                break
            out |= more
        gone = {
            word
            for file in out
            for word in re.findall(
                r"^(?:class|struct|\w[\w:<>&* ]*) (\w+)(?: : .*)?(?:\(.*\))? \{", self.texts[file], re.MULTILINE
            )
        }
        for file in out:
            del self.texts[file]
        for file in self.texts:
            self.includes[file] = [name for name in self.includes[file] if name in self.texts]
        for file in tables & set(self.texts):
            self.texts[file] = LIST.sub(lambda match: self.without(match, gone), self.texts[file])

    def in_folder(self, folder):
        """Returns the files of a folder."""
        return [file for file in self.texts if file.startswith(folder)]

    @staticmethod
    def without(match, gone):
        """Returns a list of a table without the entries whose function or class is left out."""
        entries = [entry.strip() for entry in match.group(2).split(",") if entry.strip()]
        kept = [entry for entry in entries if re.match(r"\w+", entry).group() not in gone]
        return match.group(1) + "".join(f"\n      {entry}," for entry in kept) + match.group(3)
