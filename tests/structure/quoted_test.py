"""The numbers that README.md and docs/guide/which-sampler.md quote are on the pages of results that
they link.

Usage: quoted_test.py SOURCE. The numbers of a row of README's table must stand together in a line
of its page. A number of a sentence of the guide must be on the page that its paragraph links next:
in a row of a table that has a sampler of the sentence, or outside of tables. Of a report.html the
results.json beside it is read: the numbers of its title, models and settings, and for the samplers
of the sentence their measured numbers, in a metric that the sentence names, if it names one. A
quoted number may have fewer digits than the page's, which must then round to it. Code, and numbers
within names (ResNet-64), do not count. A heading of docs/architecture.md that ends with a number of
files has as many different files linked below it.
"""
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.\-])[−-]?(?:\d{1,3}(?: \d{3})+|"
                    r"\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?!\w|\.\d)")
CODE = re.compile(r"`([^`]*)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
TABLE = re.compile(r"^(\|.*\|)\n(\|[-:| ]+\|)\n((?:\|.*\|\n?)*)", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.:;])\s+")
# The page of a row of the table is that of the first of these words which the row has.
README_PAGES = {"H100": "docs/results/gpu.md", "ResNet": "docs/results/published-networks.md",
                "": "docs/results/performance.md"}
COUNTED = re.compile(r"^### ([^\n]*): (\d+) files\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
# Pages have other names for these words of sentences.
WORDS = {"sweep": {"gibbs", "sweep"}, "ladder": {"rungs"}}
METRICS = {"per model call": "ess_per_evaluation", "per second": "ess_per_second",
           "ESS per step": "ess_per_step", "R-hat": "rhat", "mean energ": "energy",
           "model calls": "calls_to_right", "nats": "test_nats"}


def numbers(text):
    """Returns the numbers of a text as they are written, without spaces and with an ASCII minus."""
    return [found.replace(" ", "").replace("−", "-")
            for found in NUMBER.findall(re.sub(r"(?<=\d)[×x](?=\d)", " × ", text))]


def values(text):
    return [float(number) for number in numbers(text)]


def digits(number):
    """Returns how many digits of a number count. Trailing zeros of whole numbers do not, except the
    second digit."""
    mantissa = number.lstrip("-").split("e")[0]
    if "." in mantissa:
        return max(len(mantissa.replace(".", "").lstrip("0")), 1)
    return max(len(mantissa.rstrip("0")), min(len(mantissa), 2))


def quotes(quoted, candidates):
    """Returns true if a candidate rounds to the quoted number, apart from the sign, which words may
    say."""
    return any(float(f"{abs(value):.{digits(quoted) - 1}e}") == abs(float(quoted))
               for value in candidates)


def names_of(sentence):
    """Returns the samplers that a sentence names: the words of its code, and what WORDS has for
    it."""
    names = {word for code in CODE.findall(sentence)
             for word in code.split() if not re.fullmatch(r"[\d.]+", word)}
    return names.union(*(WORDS[word] for word in WORDS if word in sentence))


def has_name(text, names):
    return any(re.search(rf"(?<![\w-]){re.escape(name.rstrip('*'))}", text) for name in names)


class Page:
    """A page in Markdown."""

    def __init__(self, file):
        text = file.read_text(encoding="utf-8")
        self.others = values(TABLE.sub(r"\1", text))
        self.rows = [(row, head, values(row)) for head, _, rows in TABLE.findall(text)
                     for row in rows.splitlines()]

    def values(self, sentence):
        names = names_of(sentence)
        named = [numbers_of for row, head, numbers_of in self.rows
                 if has_name(row, names) or has_name(head, names)]
        found = named or [numbers_of for *_, numbers_of in self.rows]
        return self.others + [value for row in found for value in row]


class Grid:
    """The results of a grid."""

    def __init__(self, file):
        results = json.loads(file.read_text(encoding="utf-8"))
        texts = {results["title"], *(row["model"] for row in results["rows"])}
        texts |= {f"{value}" for row in results["rows"] for value in row["settings"].values()}
        self.others = [value for text in texts for value in values(text)]
        self.facts = []  # (sampler, metric, value)
        for claim in results["claims"]:
            for model in claim["models"]:
                self.add_sides([model[key] for key in ("who", "than") if key in model],
                               claim["metric"])
        cells = defaultdict(list)
        for row in results["rows"]:
            for metric, value in row["metrics"].items():
                cell = row["sampler"], metric, row["model"], json.dumps(row["settings"])
                cells[cell].append(value)
        for (sampler, metric, *_), repeats in cells.items():
            if all(isinstance(value, (int, float)) for value in repeats):
                self.facts.append((sampler, metric, sum(repeats) / len(repeats)))

    def add_sides(self, sides, metric):
        """Adds the numbers of a claim's two sides, and by which factor the first one is larger."""
        for side in sides:
            self.facts += [(side["sampler"], metric, side["value"]),
                           (side["sampler"], "rhat", side["rhat"])]
        if len(sides) == 2 and sides[1]["value"]:
            self.facts.append((sides[0]["sampler"], metric, sides[0]["value"] / sides[1]["value"]))

    def values(self, sentence):
        samplers = ([fact for fact in self.facts if has_name(fact[0], names_of(sentence))] or
                    self.facts)
        metrics = {metric for words, metric in METRICS.items() if words in sentence}
        measured = [fact for fact in samplers if fact[1] in metrics] or samplers
        return self.others + [value for _, _, value in measured if isinstance(value, (int, float))]


def page_of(file, known):
    """Returns the page of a link, which is read once."""
    if file not in known:
        known[file] = (Grid(file.parent / "results.json") if file.name == "report.html"
                       else Page(file))
    return known[file]


def section(text, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"there is no section '{title}'")
    return found[1]


def sentences(text):
    """Returns (sentence, target) for the sentences of a text. The target of a paragraph's last ones
    is None."""
    for paragraph in HEADING.sub("", text).split("\n\n"):
        last = 0
        for link in [*LINK.finditer(paragraph), None]:
            words = paragraph[last:link.start() if link else len(paragraph)]
            last = link.end() if link else len(paragraph)
            for sentence in SENTENCE.split(" ".join(words.split())):
                yield sentence, link[1] if link else None


def missing_of_row(row, page):
    """Returns the numbers of a row's columns after the first two if no line of the page has all of
    them."""
    quoted = numbers(" ".join(row.strip("| \n").split(" | ")[2:]))
    together = any(all(quotes(one, line) for one in quoted) for *_, line in page.rows)
    return [] if quoted and together else quoted or ["no number"]


def altered(number):
    """Returns a number that is an eighth larger, with as many digits."""
    places = len(number.partition(".")[2])
    return f"{float(number) * 9 / 8:.{places}f}"


def miscounted(text):
    """Returns a sentence for every heading of a page whose number of files is not that of the links
    below it."""
    counted = [(title, int(number), len(set(LINK.findall(below))))
               for title, number, below in COUNTED.findall(text)]
    wrong = [f"docs/architecture.md: '{title}' says {number} files and links {linked}"
             for title, number, linked in counted if number != linked]
    return wrong if counted else ["docs/architecture.md: no heading ends with a number of files"]


def main():
    source = Path(sys.argv[1]).resolve()
    known, wrong, rows, checked, noticed = {}, [], 0, 0, []
    readme = section((source / "README.md").read_text(encoding="utf-8"), "How it compares")
    for row in re.findall(r"^\| .*\d.*\|$", readme, re.MULTILINE):
        name = next(page for word, page in README_PAGES.items() if word in row)
        missing = missing_of_row(row, page_of(source / name, known))
        rows += 1
        wrong += ([f"README.md: no line of {name} has {', '.join(missing)}: {row}"] if missing
                  else [])
        other = NUMBER.sub(lambda found: altered(numbers(found[0])[0]), row)
        noticed.append(bool(missing_of_row(other, page_of(source / name, known))))
    guide = source / "docs/guide/which-sampler.md"
    for sentence, target in sentences(section(guide.read_text(encoding="utf-8"),
                                              "What the advice rests on")):
        for number in numbers(CODE.sub("", sentence)):
            checked += 1
            if not target:
                wrong.append(f"{guide.name}: no link to a page follows the number "
                             f"{number}: {sentence}")
                continue
            page = page_of((guide.parent / target.split("#")[0]).resolve(), known)
            candidates = page.values(sentence)
            if not quotes(number, candidates):
                wrong.append(f"{guide.name}: {target} does not have the number "
                             f"{number} of: {sentence}")
            if digits(number) > 2:
                noticed.append(not quotes(altered(number), candidates))
    wrong += miscounted((source / "docs/architecture.md").read_text(encoding="utf-8"))
    if wrong:
        sys.exit("\n".join(wrong))
    if rows < 5 or checked < 50:
        sys.exit(f"only {rows} rows and {checked} numbers were found: have the sections changed?")
    if sum(noticed) < 0.9 * len(noticed):
        sys.exit(f"only {sum(noticed)} of {len(noticed)} altered rows and numbers of three "
                 "digits are noticed")
    print(f"{rows} rows and {checked} numbers of sentences are on their pages; {sum(noticed)} "
          f"of {len(noticed)} altered rows and numbers of three digits are noticed")


if __name__ == "__main__":
    main()
