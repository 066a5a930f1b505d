"""Reads the Python package: its signatures, and its docstrings as sections."""

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass, field

import isinglass as ig

WIDTH = 100  # columns of a signature
RESULTS = ("Run", "Fit", "Evaluation", "Ablation")
ENGINE = ("Target", "Sampler", "State", "Info", "ReplayBuffer", "Ranks")
FUNCTIONS = (
    "energy",
    "load",
    "instance",
    "sampler",
    "sample",
    "train",
    "evaluate",
    "ablate",
    "base_mean",
    "ess",
    "rhat",
    "mmd",
)
# The types of members that pybind11 knows only as objects and dictionaries.
TYPES = {
    "dtype": "torch.dtype",
    "callable": "Callable[[torch.Tensor], torch.Tensor] | Any",
    "gradient": "torch.Tensor | Any",
    "target": "Target",
    "parameters": "dict[str, torch.Tensor]",
    "scale": "dict[str, float]",
}
SECTION = re.compile(r"^([A-Z][a-z]+):$", re.MULTILINE)
ITEM = re.compile(r"^(\S[^:\n]*): (.*(?:\n[ ]+.*)*)", re.MULTILINE)
EXAMPLE_LINE = re.compile(r"^(>>>|\.\.\.) ?")


@dataclass
class Doc:
    """A docstring: its text, its sections, and the text of its example."""

    text: str = ""
    sections: dict = field(default_factory=dict)

    @property
    def summary(self):
        """The first paragraph, in one line."""
        return " ".join(self.text.split("\n\n")[0].split())

    @property
    def first_sentence(self):
        return re.split(r"(?<=[a-zα-ω)\]])\.\s", self.summary + " ")[0].rstrip(". ") + "."

    def items(self, section):
        """The entries "name: text" of a section; "x, y: text" stands for both names."""
        found = {}
        for names, text in ITEM.findall(self.sections.get(section, "")):
            for name in names.split(", "):
                found[name] = " ".join(text.split())
        return found

    def prose(self, section):
        return " ".join(self.sections.get(section, "").split())

    def example(self):
        """The example as a program; what it prints follows as comments."""
        lines = []
        for line in self.sections.get("Example", "").splitlines():
            code = EXAMPLE_LINE.match(line)
            lines.append(line[code.end() :] if code else f"# {line}" if line else "")
        return "\n".join(lines)


@dataclass
class Parameter:
    name: str
    type: str
    default: str | None  # as it is written; None without one
    text: str  # as in the signature


@dataclass
class Signature:
    parameters: list
    texts: list  # of the parameters, with the marker * of keywords
    returned: str

    def written(self, name, before="", after=""):
        """One line if it fits, else a parameter per line."""
        end = f" -> {self.returned}" if self.returned else ""
        line = f"{before}{name}({', '.join(self.texts)}){end}{after}"
        if len(line) <= WIDTH:
            return line
        indent = " " * (len(before) - len(before.lstrip()))
        rows = "".join(f"{indent}    {text},\n" for text in self.texts)
        return f"{before}{name}(\n{rows}{indent}){end}{after}"


@dataclass
class Member:
    name: str
    kind: str  # method, static, property or attribute
    type: str  # of properties and attributes
    signature: Signature | None
    doc: Doc


def doc_of(text):
    """Splits a docstring at its headings, such as Args: and Returns:, which have no indentation."""
    pieces = SECTION.split(textwrap.dedent(text).strip())
    sections = {
        name: textwrap.dedent(body.strip("\n")).rstrip()
        for name, body in zip(pieces[1::2], pieces[2::2])
    }
    return Doc(pieces[0].strip(), sections)


def tidy(text):
    """Writes pybind11's signatures as people do."""
    text = re.sub(r"isinglass\._isinglass\.|typing\.|collections\.abc\.", "", text)
    text = re.sub(r"SupportsInt(?: \| SupportsIndex)?", "int", text)
    text = re.sub(r"SupportsFloat(?: \| SupportsIndex)?", "float", text)
    text = re.sub(r"Optional\[([^\[\]]+)\]", r"\1 | None", text)
    text = text.replace("Tuple[", "tuple[").replace("object", "Any").replace("tuple[()]", "tuple")
    text = re.sub("-> dict$", "-> dict[str, Any]", text)
    return re.sub("-> tuple$", "-> tuple[torch.Tensor, torch.Tensor]", text)


def bound_text(function):
    """A function's docstring. In the extension module its first line is the signature."""
    return function.__doc__ or ""


def plain(annotation):
    """An annotation as it is written; the package's own classes without its name."""
    text = (
        "None"
        if annotation is None
        else annotation
        if isinstance(annotation, str)
        else (
            annotation.__name__
            if annotation.__module__ == "builtins"
            else f"{annotation.__module__}.{annotation.__qualname__}"
        )
    )
    return re.sub(r"isinglass\.(_isinglass\.)?", "", text)


def parsed(text):
    """The signature that a text such as (self: Target, x: int = 0) -> int describes."""
    made = ast.parse(f"def f{text}: ...").body[0]
    arguments, parameters, texts = made.args, [], []
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    rows = list(zip(arguments.args, defaults))
    if arguments.kwonlyargs:
        rows += [(None, None), *zip(arguments.kwonlyargs, arguments.kw_defaults)]
    for one, default in rows:
        if one is None:
            texts.append("*")
            continue
        kind = ast.unparse(one.annotation) if one.annotation else ""
        value = None if default is None else ast.unparse(default)
        text = one.arg + (f": {kind}" if kind and one.arg != "self" else "")
        if value is not None:
            text += f" = {value}"
        texts.append(text)
        if one.arg != "self":
            parameters.append(Parameter(one.arg, kind, value, text))
    if arguments.kwarg:
        texts.append(f"**{arguments.kwarg.arg}: {ast.unparse(arguments.kwarg.annotation)}")
    return Signature(parameters, texts, ast.unparse(made.returns) if made.returns else "")


def written(signature):
    """A signature of Python as a text: annotations without quotes, defaults with them."""
    empty, parts_of, starred = inspect.Parameter.empty, [], False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts_of.append("*")
            starred = True
        text = "**" + one.name if one.kind is one.VAR_KEYWORD else one.name
        text += f": {plain(one.annotation)}" if one.annotation is not empty else ""
        if one.default is not empty:
            text += f" = {one.default!r}"
        parts_of.append(text)
    returned = (
        "" if signature.return_annotation is empty else f" -> {plain(signature.return_annotation)}"
    )
    return f"({', '.join(parts_of)}){returned}"


def bound(function, name):
    """The signature and the docstring of a function of the extension module or of Python."""
    try:
        return parsed(written(inspect.signature(function))), doc_of(
            inspect.cleandoc(bound_text(function))
        )
    except ValueError:
        first, _, rest = bound_text(function).partition("\n")
        return parsed(tidy(first).removeprefix(name)), doc_of(rest.strip())


def constructor(cls):
    """The signature of a class that users make; None for others."""
    text = cls.__init__.__doc__ or ""
    if cls is ig.Ranks:
        return Signature([], [], "")
    if cls.__name__ not in ENGINE or "size" not in text:
        return None
    return parsed(tidy(text.partition("\n")[0]).removeprefix("__init__"))


def typed(name, kind):
    """A member's type, more exactly than pybind11 knows it."""
    return TYPES.get(name, kind) if "Any" in kind else kind


def members(cls):
    """Public attributes, properties and methods of a class."""
    described = doc_of(inspect.getdoc(cls) or "").items("Attributes")
    for name, kind in vars(cls).get("__annotations__", {}).items():
        yield Member(name, "attribute", plain(kind), None, Doc(described.get(name, "")))
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            returned = (
                inspect.signature(member.fget).return_annotation
                if inspect.isfunction(member.fget)
                else re.search(r"-> (.*)", tidy(bound_text(member.fget).partition("\n")[0]))[1]
            )
            text = inspect.cleandoc(bound_text(member) or described.get(name, ""))
            yield Member(name, "property", typed(name, plain(returned)), None, doc_of(text))
        elif isinstance(member, staticmethod):
            yield Member(name, "static", "", *bound(getattr(cls, name), name))
        elif callable(member):
            signature, doc = bound(member, name)
            signature.returned = typed(name, signature.returned)
            yield Member(name, "method", "", signature, doc)
