"""What a repository keeps, counted with plain patterns and without the program that is measured."""

import re

from .base import language_of

FUNCTIONS = {
    "python": re.compile(r"(?m)^\s*(?:async )?def (\w+)"),
    "javascript": re.compile(r"(?m)^(?:export )?(?:default )?(?:async )?function\*? (\w+)"),
    "go": re.compile(r"(?m)^func (?:\([^)]*\) )?(\w+)"),
    "rust": re.compile(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)"),
    "java": re.compile(r"(?m)^  (?:public |private |protected |static |final |synchronized )+[\w<>\[\], ?]+ (\w+)\("),
}
TYPES = {
    "python": re.compile(r"(?m)^\s*class (\w+)"),
    "javascript": re.compile(r"(?m)^(?:export )?(?:default )?(?:abstract )?(?:class|interface|type|enum) (\w+)"),
    "go": re.compile(r"(?m)^type (\w+)"),
    "rust": re.compile(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) (\w+)"),
    "java": re.compile(r"(?m)^\s*(?:public |private |protected |static |final |abstract )*(?:class|interface|enum) (\w+)"),
}
# What begins something public, and the text that has to stand right before it, or for Python after it.
PUBLIC = {
    "python": re.compile(r"(?m)^class ([A-Za-z]\w*)[^\n]*:\n(\s+r?\"\"\")?"),
    "javascript": re.compile(r"(?m)(\*/\n)?^export (?:default )?(?:abstract )?(?:class|interface) (\w+)"),
    "go": re.compile(r"(?m)(^//[^\n]*\n)?^func (?:\([^)]*\) )?([A-Z]\w*)"),
    "rust": re.compile(r"(?m)(^\s*///[^\n]*\n(?:\s*#\[[^\n]*\n)*)?^pub (?:struct|enum|trait|fn) (\w+)"),
    "java": re.compile(r"(?m)(\*/\n(?:@[^\n]*\n)*)?^public (?:\w+ )*(?:class|interface|enum) (\w+)"),
}
# What is done about errors: places where something is, and places where nothing is.
ERRORS = {
    "python": (re.compile(r"(?m)^\s*except (?!Exception\b|BaseException\b)[^:\n]+:"),
               re.compile(r"(?m)^\s*except:|^\s*except (?:Base)?Exception[^:\n]*:\s*\n\s*(?:pass|\.\.\.)$")),
    "go": (re.compile(r"(?m)^\s*if .*err != nil \{"), re.compile(r"(?m)^\s*_ = err$")),
    "java": (re.compile(r"catch \([^)]*\) \{\s*\S(?<!\})"), re.compile(r"catch \([^)]*\) \{\s*\}|catch \([^)]*\) \{\s*\w+\.printStackTrace")),
    "rust": (re.compile(r"[)\w]\?[;.,)\s]"), re.compile(r"\.unwrap\(\)")),
    "javascript": (re.compile(r"\bthrow new "), re.compile(r"\bthrow ['\"`]")),
}  # fmt: skip
HEADER = re.compile(r"(?i)copyright|spdx-license|licensed under")


def family(language):
    return "javascript" if language == "typescript" else language


def styles(name):
    """The styles a name of several words is written in; none for a name of one word."""
    name = name.strip("_")
    if re.fullmatch(r"[a-z0-9]+", name) or not re.fullmatch(r"[A-Za-z][\w-]*", name):
        return None
    if "_" in name or "-" in name:
        joint = "_" if "_" in name else "-"
        if name.lower() != name or "_" in name and "-" in name:
            return "other"
        return "snake" if joint == "_" else "kebab"
    return "pascal" if name[0].isupper() else "camel"


def kept(counts, most, least, permille):
    """Whether nearly all of enough places are of one mind."""
    total = sum(counts.values())
    return total >= least and counts.get(most, 0) * 1000 >= total * permille


class Habits:
    """The counts of one commit."""

    def __init__(self, tree):
        self.product = tree.product()
        self.texts = {path: text for path, text in tree.read_all(self.product).items() if len(text) < 1 << 20}
        self.tests = tree.tests()

    def texts_in(self, language):
        return [text for path, text in self.texts.items() if family(language_of(path)) == language]

    def languages(self):
        return sorted({family(language_of(path)) for path in self.product})

    def names(self, patterns, language):
        counts = {}
        for text in self.texts_in(language):
            for match in patterns[language].finditer(text):
                if not match[1].startswith("__"):
                    style = styles(match[1])
                    if style is None and patterns is TYPES:
                        # Of functions a word in small letters says nothing; of types it does.
                        style = "lower"
                    if style:
                        counts[style] = counts.get(style, 0) + 1
        if language == "go":
            # Go has two styles that are one: what is exported begins with a capital.
            counts = {"mixed": counts.pop("pascal", 0) + counts.pop("camel", 0), **counts}
        return counts

    def style(self, patterns, language):
        """The style that names keep, if they do."""
        counts = self.names(patterns, language)
        most = max(counts, key=counts.get, default=None)
        return most if most and kept(counts, most, 20, 980) else None

    def file_style(self, ending):
        """The style of the names of files: a style, or `lower` where there is none with a capital."""
        names = [path.rsplit("/", 1)[-1].split(".")[0] for path in self.product if path.endswith("." + ending)]
        counts = {}
        for name in names:
            counts[styles(name) or "one"] = counts.get(styles(name) or "one", 0) + 1
        several = {style: count for style, count in counts.items() if style != "one"}
        most = max(several, key=several.get, default=None)
        if most and kept(several, most, 20, 980):
            return most
        lower = sum(name == name.lower() for name in names)
        return "lower" if len(names) >= 20 and lower * 1000 >= len(names) * 980 else None

    def has_header(self, language):
        heads = [bool(HEADER.search("\n".join(text.split("\n")[:20]))) for text in self.texts_in(language) if text.strip()]
        return len(heads) >= 20 and sum(heads) * 1000 >= len(heads) * 990

    def documents(self, language):
        """Whether nearly all that is public is documented."""
        after = language == "python"
        found = [match for text in self.texts_in(language) for match in PUBLIC[language].finditer(text)]
        found = [bool(match[2 if after else 1]) for match in found if not (after and match[1].startswith("_"))]
        return len(found) >= 20 and sum(found) * 1000 >= len(found) * 990

    def minds_errors(self, language):
        good, bad = ERRORS[language]
        texts = self.texts_in(language)
        does, does_not = (sum(len(pattern.findall(text)) for text in texts) for pattern in (good, bad))
        return does + does_not >= 20 and does * 1000 >= (does + does_not) * 980

    def test_place(self, language):
        """The name of the directory that nearly all tests of a language stand in; `beside` where they stand in none."""
        counts = {}
        for path in self.tests:
            if family(language_of(path)) == language and "conftest" not in path:
                parts = path.split("/")[:-1]
                place = next((part for part in reversed(parts) if part in ("tests", "test", "__tests__", "spec")), "beside")
                counts[place] = counts.get(place, 0) + 1
        most = max(counts, key=counts.get, default=None)
        return most if most and kept(counts, most, 6, 980) else None

    def busiest(self, ending):
        """The directory with most product files of an ending."""
        counts = {}
        for path in self.product:
            if path.endswith("." + ending):
                directory = path.rpartition("/")[0]
                counts[directory] = counts.get(directory, 0) + 1
        return max(counts, key=counts.get, default="")


