"""Finds the items that a program needs which uses chosen functions and classes of the public headers."""

import re
from collections import defaultdict

from sources import is_public


class UnknownName(Exception):
    """A name that no public header declares."""


class Reach:
    """The needed items. `interface` has those that a program needs to compile, and `needed` those that it needs to run.

    A mention of a name needs every item with this name that the file sees. Two names that are spelled alike therefore
    lead to too many items, but never to too few.
    """

    def __init__(self, sources):
        self.sources = sources
        self.by_name = defaultdict(list)  # what declares a name at namespace scope
        self.by_owner = defaultdict(list)  # the definitions of a class's members and nested classes
        self.tables = []
        for items in sources.items.values():
            for item in items:
                if item.kind == "table":
                    self.tables.append(item)
                for name in item.names if not item.owner else ():
                    self.by_name[name].append(item)
                for name in item.owner:
                    self.by_owner[name].append(item)
        self.needed, self.interface, self.files = {}, {}, set()  # items by their identity
        self.befriended = {}  # declarations of functions and classes that are only friends of needed classes
        self.members = set()  # the words that name members anywhere in the needed items
        self.owners = {}  # needed classes by name, each a list of items
        self.waiting = {}  # items that are needed as soon as something else is
        self.public_only = True

    def find(self, names):
        """Fills `interface` and `needed`, starting from names that public headers declare."""
        for name in names:
            found = [item for item in self.by_name[name] if is_public(item.file)]
            if not found:
                raise UnknownName(name)
            for item in found:
                self.need(item)
        self.settle()
        self.interface = self.needed | self.befriended
        self.public_only = False
        for item in list(self.needed.values()):
            self.follow(item)
        self.settle()
        self.needed = self.befriended | self.needed

    def sees(self, item, other):
        """Whether the file of `item` includes the file of `other`, or is this file."""
        return other.file in self.sources.visible[item.file]

    def need(self, item):
        """Marks an item as needed."""
        if id(item) in self.needed or (self.public_only and not is_public(item.file)):
            return
        self.needed[id(item)] = item
        self.waiting.pop(id(item), None)
        self.members |= item.members
        self.follow(item)

    def follow(self, item):
        """Marks what an item uses, and the definitions of what it declares."""
        for word in self.words(item):
            for found in self.by_name.get(word, ()):
                if self.sees(item, found):
                    self.need_if(found)
        for word in item.friends:
            for found in self.by_name.get(word, ()):
                if self.sees(item, found) and not found.defines:
                    self.befriended[id(found)] = found
        if item.kind == "type":
            for name in item.names[:1]:
                self.owners.setdefault(name, []).append(item)
                specializations = [found for found in self.by_name[name] if found.arguments and self.sees(found, item)]
                for found in self.by_owner.get(name, []) + specializations:
                    self.need_if(found)
        if item.kind in ("function", "variable") and not item.owner:
            for name in item.names:
                for found in self.by_name[name]:
                    if found.defines and not found.anonymous and found.kind == item.kind and self.sees(found, item):
                        self.need_if(found)
        self.enter(item)

    def words(self, item):
        """Returns the words of an item and of the macros that it uses."""
        words, todo = set(item.free), list(item.free)
        while todo:
            for found in self.by_name.get(todo.pop(), ()):
                if found.kind == "macro" and self.sees(item, found):
                    todo += found.free - words
                    words |= found.free
        return words

    def enter(self, item):
        """Marks the macros that the conditions of an item's file use, when the file is needed for the first time."""
        if item.file in self.files:
            return
        self.files.add(item.file)
        for line in self.sources.items[item.file]:
            if line.kind in ("if", "else", "using"):
                self.follow(line)

    def need_if(self, item):
        """Marks an item if its conditions are fulfilled, and otherwise keeps it waiting for them."""
        if self.is_due(item):
            self.need(item)
        elif id(item) not in self.needed:
            self.waiting[id(item)] = item

    def settle(self):
        """Marks waiting items until the conditions of none of them are fulfilled."""
        if not self.public_only:
            self.waiting.update((id(table), table) for table in self.tables)
        while True:
            due = [item for item in self.waiting.values() if self.is_due(item)]
            if not due:
                return
            for item in due:
                self.need(item)
            self.waiting = {key: item for key, item in self.waiting.items() if key not in self.needed}
            if self.public_only:
                self.waiting = {key: item for key, item in self.waiting.items() if is_public(item.file)}

    def is_due(self, item):
        """Whether all conditions of an item are fulfilled."""
        if self.public_only and not is_public(item.file):
            return False
        if item.kind == "table":
            return self.table_is_due(item)
        return self.arguments_needed(item) and (not item.owner or self.member_is_due(item))

    def arguments_needed(self, item):
        """Whether all types in the arguments of a specialization are needed."""
        for word in item.arguments:
            types = [
                found
                for found in self.by_name.get(word, ())
                if found.kind in ("type", "alias") and self.sees(item, found)
            ]
            if types and not any(id(found) in self.needed for found in types):
                return False
        return True

    def table_is_due(self, item):
        """Whether a macro is needed that defines the kernels of a family, or the variants of a function."""
        named = any(self.by_name.get(word) for word in item.arguments - {"weft", "detail"})
        of_file = any(other.file == item.file and other.kind == "function" for other in self.needed.values())
        return self.arguments_needed(item) and (of_file or (named and not self.has_functions(item.file)))

    def has_functions(self, file):
        """Whether the functions of a file at namespace scope can be called from other files."""
        return any(item.kind == "function" and not item.anonymous for item in self.sources.items[file])

    def member_is_due(self, item):
        """Whether a member of a class is needed, given that it is mentioned, virtual, or part of the interface."""
        classes = [found for found in self.owners.get(item.owner[-1], ()) if self.sees(item, found)]
        if not classes:
            return len(item.owner) > 1 and any(self.sees(item, found) for found in self.owners.get(item.owner[0], ()))
        name = item.names[0]
        if name == "operator" or name.startswith("~") or name == item.owner[-1] or name in self.members:
            return True
        if item.kind == "type" or any(id(found) in self.interface for found in classes):
            return True
        virtual = re.compile(rf"\bvirtual\b[^;{{}}]*\b{name}\(|\b{name}\([^;{{}}]*\b(?:override|final)\b")
        return any(virtual.search(found.text) for found in classes)
