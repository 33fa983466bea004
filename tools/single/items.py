"""Divides C++ files into items: the definitions, declarations and preprocessor lines at namespace scope.

This is not a C++ parser. It relies on the formatting and the conventions of weft's sources.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?(?:R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])+')
  | (?P<line>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<space>[^\S\n]+|\n)
  | (?P<sign>::|->|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
TYPES = {"class", "struct", "union", "enum"}
BEFORE_TYPE = {"typedef", "static", "inline", "constexpr", "constinit", "const", "extern"}
NOT_NAMES = {
    "noexcept",
    "decltype",
    "alignas",
    "explicit",
    "requires",
    "__attribute__",
    "sizeof",
    "if",
    "static_assert",
}
OPEN, CLOSE = "([{", ")]}"


@dataclass
class Token:
    """A token of C++, or a comment, white space, or a line of the preprocessor."""

    kind: str
    text: str


@dataclass
class Item:
    """A part of a file at namespace scope that is kept or left out as a whole."""

    file: str
    scope: tuple  # the names of the enclosing namespaces; an anonymous namespace has the name ""
    kind: str  # function, type, variable, alias, using, macro, if, else, endif, include, undef, table, other
    text: str
    names: list = field(default_factory=list)  # what the item declares, without qualifiers
    owner: list = field(default_factory=list)  # the classes that qualify the name, such as Tensor in Tensor::shape
    defines: bool = True  # whether it defines what it declares
    arguments: set = field(default_factory=set)  # words in the arguments of a template's specialization
    free: set = field(default_factory=set)  # words that the item uses and that may name something at namespace scope
    members: set = field(default_factory=set)  # words that follow a dot, an arrow or a class
    friends: set = field(default_factory=set)  # words in declarations of friends
    gap: bool = False  # whether an empty line precedes the item

    @property
    def anonymous(self):
        """Whether the item is in an anonymous namespace."""
        return "" in self.scope


class SourceError(Exception):
    """A source file that this tool does not understand. The message names the file."""


def tokens_of(text):
    """Divides a text into tokens."""
    return [Token(m.lastgroup if m.lastgroup != "mark" else "string", m.group()) for m in TOKEN.finditer(text)]


def significant(tokens):
    """Returns the tokens without comments, white space and preprocessor lines."""
    return [t for t in tokens if t.kind not in ("comment", "space", "line")]


def without_template(tokens):
    """Returns the tokens after the prefixes `template <...>`, and whether a prefix is `template <>`."""
    specialized = False
    while len(tokens) > 1 and tokens[0].text == "template" and tokens[1].text == "<":
        specialized = specialized or tokens[2].text == ">"
        depth, i = 0, 1
        while True:
            depth += {"<": 1, ">": -1}.get(tokens[i].text, 0)
            i += 1
            if depth == 0:
                break
        tokens = tokens[i:]
    return without_attributes(tokens), specialized


def without_attributes(tokens):
    """Returns the tokens without a leading [[attribute]]."""
    while len(tokens) > 1 and tokens[0].text == "[" and tokens[1].text == "[":
        end = next(i for i in range(len(tokens)) if tokens[i].text == "]" and tokens[i + 1].text == "]")
        tokens = tokens[end + 2 :]
    return tokens


def is_type(tokens):
    """Whether a declaration without its template prefix defines or declares a class or an enum."""
    i = 0
    while i < len(tokens) and tokens[i].text in BEFORE_TYPE:
        i += 1
    if i + 1 >= len(tokens) or tokens[i].text not in TYPES:
        return False
    while tokens[i].text in TYPES:
        i += 1
    rest = without_attributes(tokens[i:])
    names_result = len(rest) > 1 and rest[0].kind == "word" and rest[1].kind == "word" and rest[1].text != "final"
    return not names_result  # struct stat status(...)


def shape_of(head):
    """Returns what a declaration is, as far as the tokens before its first brace or semicolon tell."""
    head, _ = without_template(head)
    if is_type(head):
        return "type"
    depth = 0
    has_call = False
    for i, token in enumerate(head):
        if token.text in OPEN:
            has_call = has_call or (token.text == "(" and depth == 0 and i > 0 and head[i - 1].text not in NOT_NAMES)
            depth += 1
        elif token.text in CLOSE:
            depth -= 1
        elif token.text == "=" and depth == 0 and not any(t.text == "operator" for t in head[max(0, i - 3) : i]):
            return "function" if head[i + 1 : i + 2] and head[i + 1].text in ("default", "delete") else "variable"
    return "function" if has_call else "variable"


def split_name(tokens, end):
    """Returns (name, qualifiers, words in template arguments) of the qualified name that ends before tokens[end]."""
    arguments, qualifiers = set(), []
    i = end - 1

    def skip_arguments(i):
        depth = 0
        while i >= 0:
            depth += {">": 1, "<": -1}.get(tokens[i].text, 0)
            if tokens[i].kind == "word":
                arguments.add(tokens[i].text)
            i -= 1
            if depth == 0:
                return i
        return i

    if i >= 0 and tokens[i].text == ">":
        i = skip_arguments(i)
    name = tokens[i].text if i >= 0 else ""
    if i > 0 and tokens[i - 1].text == "~":
        name, i = "~" + name, i - 1
    i -= 1
    while i > 0 and tokens[i].text == "::":
        i -= 1
        if tokens[i].text == ">":
            i = skip_arguments(i)
        if i < 0 or tokens[i].kind != "word":
            break
        qualifiers.insert(0, tokens[i].text)
        i -= 1
    return name, qualifiers, arguments


def name_function(item, tokens):
    """Finds the name of a function: what precedes the first parenthesis outside of template arguments."""
    for i, token in enumerate(tokens):
        if token.text == "operator":
            item.names, item.owner = ["operator"], split_name(tokens, i + 1)[1]
            return
    angle = depth = 0
    for i, token in enumerate(tokens):
        angle += {"<": 1, ">": -1}.get(token.text, 0)
        if token.text == "(" and angle == 0 and depth == 0 and i > 0:
            before = tokens[i - 1]
            if (before.kind == "word" and before.text not in NOT_NAMES) or before.text == ">":
                name, item.owner, item.arguments = split_name(tokens, i)
                item.names = [name]
                return
        depth += (token.text in OPEN) - (token.text in CLOSE)


def name_type(item, tokens):
    """Finds the name of a class or enum, and the enumerators of an enum without a scope."""
    i = next(k for k, t in enumerate(tokens) if t.text in TYPES)
    has_enumerators = tokens[i].text == "enum" and tokens[i + 1].text not in TYPES
    while tokens[i].text in TYPES:
        i += 1
    rest = without_attributes(tokens[i:])
    while rest[0].text in ("__attribute__", "alignas"):
        rest = rest[rest.index(next(t for t in rest if t.text == ")")) + 1 :]
    end, angle = 0, 0
    for end, token in enumerate(rest):
        angle += {"<": 1, ">": -1}.get(token.text, 0)
        if angle == 0 and token.text in ("{", ";", ":", "final"):
            break
    name, item.owner, item.arguments = split_name(rest, end)
    item.names = [name]
    item.defines = rest[end].text != ";"
    if has_enumerators and item.defines:
        body = next(i for i, t in enumerate(rest) if t.text == "{")
        item.names += [t.text for k, t in enumerate(rest[body:], body) if t.kind == "word" and rest[k - 1].text in "{,"]


def name_variable(item, tokens):
    """Finds the names of the variables that a declaration with one or more declarators declares."""
    depth = angle = 0
    in_value = False
    for i, token in enumerate(tokens):
        if depth == 0 and not in_value:
            angle += {"<": 1, ">": -1}.get(token.text, 0)
        if depth == 0 and (in_value or angle == 0):
            if token.text in "={[;(" and not in_value:
                to_pointer = token.text == "(" and tokens[i + 1].text == "*"
                name, item.owner, arguments = split_name(tokens, i + 3 if to_pointer else i)
                item.names.append(name)
                item.arguments |= arguments
                in_value = True
            elif token.text == ",":
                in_value = False
        depth += (token.text in OPEN) - (token.text in CLOSE)
    item.defines = tokens[0].text != "extern"


def name_item(item, tokens):
    """Determines the kind of an item and the names that it declares."""
    first = tokens[0].text
    rest, specialized = without_template(tokens)
    body = next((i for i, t in enumerate(rest) if t.text == "{"), len(rest))
    if first == "using" and tokens[1].text == "namespace" or first == "static_assert":
        item.kind = "using" if first == "using" else "other"
    elif rest[0].text == "using":
        item.kind = "alias"
        equals = next((i for i, t in enumerate(rest) if t.text in ("=", "[")), None)
        item.names = [rest[-2].text if equals is None else rest[1].text]
    elif rest[0].text in ("concept", "namespace"):
        item.kind, item.names = "alias", [rest[1].text]
    elif is_type(rest):
        item.kind = "type"
        name_type(item, rest)
        if rest[0].text == "template":
            item.defines = True
    elif shape_of(rest[:body] if body < len(rest) else rest) == "function":
        item.kind = "function"
        name_function(item, rest[:body])
        item.defines = body < len(rest) or rest[0].text == "template" or any(t.text == "default" for t in rest[-3:])
    else:
        item.kind = "variable"
        name_variable(item, rest)
    if not specialized and item.kind in ("function", "variable") and not item.owner:
        item.arguments = set()


def uses_of(tokens, namespaces):
    """Returns the words that may name something at namespace scope, those that name members, and those of friends."""
    free, members, friends = set(), set(), set()
    words = significant(tokens)
    friend_until = 0
    for i, token in enumerate(words):
        if token.kind != "word":
            continue
        before = words[i - 1].text if i > 0 else ""
        if token.text == "friend":
            end = next((k for k in range(i, len(words)) if words[k].text in ("{", ";")), i)
            friend_until = end if words[end].text == ";" else 0
        if i < friend_until:
            friends.add(token.text)
        elif before in (".", "->") or (before == "::" and i > 1 and words[i - 2].text not in namespaces):
            members.add(token.text)
        else:
            free.add(token.text)
            members.add(token.text)
    return free, members, friends


class Divider:
    """Divides one file."""

    def __init__(self, file, text, namespaces):
        self.file, self.tokens, self.namespaces = file, tokens_of(text), namespaces
        self.scope, self.items, self.at = [], [], 0

    def fail(self, what):
        line = "".join(t.text for t in self.tokens[: self.at]).count("\n") + 1
        raise SourceError(f"{self.file}:{line}: {what}")

    def run(self):
        """Returns the items of the file."""
        while self.at < len(self.tokens):
            self.one()
        if self.scope:
            self.fail("a namespace is not closed")
        return self.items

    def one(self):
        """Reads the next item, or the beginning or the end of a namespace."""
        start = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].kind in ("comment", "space"):
            self.at += 1
        lead = self.tokens[start : self.at]
        if self.at == len(self.tokens):
            return
        token = self.tokens[self.at]
        if token.kind == "line":
            self.at += 1
            self.add_line(lead, token.text)
        elif token.text == "}":
            if not self.scope:
                self.fail("expected no }")
            self.scope.pop()
            self.at += 1
            self.skip_comment()
        elif token.text in ("namespace", "inline", "extern") and self.opens_scope():
            return
        else:
            self.add(lead, self.read())

    def skip_comment(self):
        """Skips a comment on the same line, such as the one after the end of a namespace."""
        while self.tokens[self.at : self.at + 1] and (
            self.tokens[self.at].kind == "comment"
            or self.tokens[self.at].text.isspace()
            and self.tokens[self.at].text != "\n"
        ):
            self.at += 1

    def opens_scope(self):
        """Enters a namespace, if one begins here."""
        text = "".join(t.text for t in self.tokens[self.at : self.at + 40] if t.kind != "comment")
        match = re.match(r'(?:inline )?namespace ?([\w:]*) ?\{|extern "C" \{', text)
        if not match:
            return False
        while self.tokens[self.at].text != "{":
            self.at += 1
        self.at += 1
        self.scope.append(match.group(1) if match.group(1) is not None else 'extern "C"')
        self.skip_comment()
        return True

    def read(self):
        """Returns the tokens of the item that begins here."""
        start, depth, head = self.at, 0, []
        shape = ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind in ("comment", "space", "line"):
                continue
            if token.text == "{" and depth == 0 and not shape:
                shape = shape_of(head)
            head.append(token)
            depth += (token.text in OPEN) - (token.text in CLOSE)
            if depth < 0:
                self.fail("unbalanced brackets")
            if depth > 0:
                continue
            if token.text == ";" or (
                token.text == "}" and shape == "function" and self.next_sign() not in (",", "{", "catch")
            ):
                break
            if token.text == ")" and re.fullmatch(r"[A-Z][A-Z0-9_]+", head[0].text) and self.ends_line():
                break
        self.take_comment()
        return self.tokens[start : self.at]

    def next_sign(self):
        """Returns the text of the next token that is neither a comment nor white space."""
        return next((t.text for t in self.tokens[self.at :] if t.kind not in ("comment", "space")), "")

    def ends_line(self):
        """Whether nothing but another macro or a new line follows."""
        return bool(re.match(r"\n| WEFT_|$", "".join(t.text for t in self.tokens[self.at : self.at + 2])))

    def take_comment(self):
        """Includes a comment that follows on the same line."""
        i = self.at
        while i < len(self.tokens) and self.tokens[i].kind == "space" and self.tokens[i].text != "\n":
            i += 1
        if i < len(self.tokens) and self.tokens[i].kind == "comment":
            self.at = i + 1

    def lead_text(self, lead):
        """Returns the comment directly above an item, and whether an empty line precedes it."""
        text = "".join(t.text for t in lead)
        above = text.rsplit("\n\n", 1)[-1]
        above = re.sub(r"^/// \\(?:end)?cond\n|^/// \\file\n", "", above.lstrip("\n"), flags=re.MULTILINE)
        return above.lstrip(" "), "\n\n" in text

    def add_line(self, lead, line):
        """Adds a line of the preprocessor."""
        comment, gap = self.lead_text(lead)
        word = re.match(r"\s*#\s*(\w+)\s*(\w*)", line)
        kinds = {"ifdef": "if", "ifndef": "if", "elif": "else", "define": "macro"}
        kind = kinds.get(word.group(1), word.group(1))
        item = Item(self.file, tuple(self.scope), kind, comment + line if kind == "macro" else line, gap=gap)
        if kind in ("macro", "undef"):
            item.names = [word.group(2)]
        item.free, item.members, _ = uses_of(tokens_of(line.lstrip(" #")), self.namespaces)
        self.add_pasted(item)
        self.items.append(item)

    def add(self, lead, tokens):
        """Adds a declaration or a definition."""
        comment, gap = self.lead_text(lead)
        text = "".join(t.text for t in tokens)
        item = Item(self.file, tuple(self.scope), "other", comment + text, gap=gap)
        head = significant(tokens)
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", head[0].text) and head[1].text == "(":
            item.kind, item.arguments = "table", {t.text for t in head[2:] if t.kind == "word"}
        else:
            name_item(item, head)
        item.owner = [name for name in item.owner if name not in self.namespaces]
        item.free, item.members, item.friends = uses_of(tokens, self.namespaces)
        for line in (t.text for t in tokens if t.kind == "line"):
            item.free |= set(re.findall(r"[A-Za-z_]\w*", line))
        self.add_pasted(item)
        self.items.append(item)

    def add_pasted(self, item):
        """Adds the macros of the file whose names begin with a word before ##."""
        prefixes = tuple(re.findall(r"(\w+)##", item.text))
        if prefixes:
            item.free |= {name for other in self.items for name in other.names if name.startswith(prefixes)}
