#!/usr/bin/env python3
"""Makes the synthetic repositories of the benchmark: the same bytes on every machine, nothing downloaded.

    bench-fixtures.py DIRECTORY [NAME ...]

Names: scale (10,000 files of 400 lines; branches change 10, 100, 1,000 and 10,000 of them by 100 lines each), million
(one change of 1,000,000 lines), wide (33,000 files, 44 changed), history-1k, history-100k, history-1m (a change of three
files that forked 50 commits ago), code-50k, code-1m (modules of five languages, 50,000 and 1,000,000 lines of them, and
5,000 commits of three files each). A repository that exists already is left alone.
"""

import os
import random
import subprocess
import sys

WORDS = """account address array batch bind block branch buffer build cache call change chunk client close code column
commit config connect content context copy count create cursor data date decode default delta depth device digest
document element encode entry error event fetch field file filter format frame group handle hash head index inner input
insert item join label layer length level limit line link list load lock lookup map match merge message method mode
module name node number object offset open option order output owner packet page parent parse part path pattern payload
policy pool port prefix print process queue range read record region remote render report request reset resolve result
retry return root route rule sample scale schema scope score search section select send sequence session shape size
slice slot sort source space span split stack start state status step store stream string style suffix switch symbol
sync table target task text thread time trace tree type unit update user value vector version view width window worker
write""".split()
STAMP = "Bench <bench@example.org> 1700000000 +0000"


class Import:
    """One `git fast-import` being fed."""

    def __init__(self, path):
        subprocess.run(["git", "init", "-q", "--bare", path], check=True)
        command = ["git", "-C", path, "fast-import", "--quiet", "--force"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        self.out = self.process.stdin

    def commit(self, branch, message, parent, files, stamp=STAMP):
        head = f"commit refs/heads/{branch}\ncommitter {stamp}\ndata {len(message)}\n{message}\n"
        self.out.write(head.encode())
        if parent:
            self.out.write(f"from {parent}\n".encode())
        for path, text in files:
            data = text.encode()
            self.out.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode())
            self.out.write(data)
            self.out.write(b"\n")

    def finish(self, path):
        self.out.close()
        if self.process.wait() != 0:
            raise SystemExit(f"git fast-import failed in {path}")
        # Clones come with packs a server has made; those of fast-import have a delta chain through unrelated files.
        subprocess.run(["git", "-C", path, "repack", "-adfq", "--depth=50", "--window=10"], check=True)


def lines(seed, count):
    """Lines that look like program text, drawn with a generator of their own."""
    draw = random.Random(seed)
    pool = LINES
    return [pool[draw.randrange(len(pool))] for _ in range(count)]


def make_lines():
    draw = random.Random(1)
    word = lambda: WORDS[draw.randrange(len(WORDS))]
    shapes = [
        lambda: f"    let {word()}_{word()} = {word()}.{word()}({word()}, {draw.randrange(1000)});",
        lambda: f"    if {word()}.{word()}() > {draw.randrange(100)} {{ return {word()}; }}",
        lambda: f"    // The {word()} of a {word()} is never larger than its {word()}.",
        lambda: f"pub fn {word()}_{word()}({word()}: u{8 << draw.randrange(4)}) -> Option<{word().title()}> {{",
        lambda: "}",
        lambda: "",
        lambda: f'    log("{word()} {word()} {word()}", {word()});',
        lambda: f"    self.{word()}.{word()}({word()})",
    ]
    return [shapes[draw.randrange(len(shapes))]() for _ in range(40_000)]


LINES = make_lines()


def scale(path):
    texts = [lines(f"file {number}", 400) for number in range(10_000)]
    name = lambda number: f"src/part{number % 97:02}/module{number % 11}/file{number:05}.rs"
    repository = Import(path)
    base = ((name(number), "\n".join(text) + "\n") for number, text in enumerate(texts))
    repository.commit("main", "base", None, base)
    for count in (10, 100, 1_000, 10_000):
        repository.commit(f"changed-{count}", f"change {count}", "refs/heads/main",
                          ((name(number), edited(number, texts[number])) for number in range(count)))
    repository.finish(path)


def edited(number, text):
    """Five blocks of twenty lines replaced."""
    text = list(text)
    fresh = lines(f"edit {number}", 100)
    for block in range(5):
        text[80 * block + 20 : 80 * block + 40] = fresh[20 * block : 20 * block + 20]
    return "\n".join(text) + "\n"


def million(path):
    repository = Import(path)
    repository.commit("main", "base", None, [("README.md", "A million lines.\n")])
    files = ((f"src/part{number:03}.rs", "\n".join(lines(f"million {number}", 2_000)) + "\n") for number in range(500))
    repository.commit("change", "add a million lines", "refs/heads/main", files)
    repository.finish(path)


def wide(path):
    repository = Import(path)
    name = lambda number: f"packages/p{number % 150:03}/fixtures/case{number % 37:02}/input{number:05}.js"
    files = ((name(number), f"export const value{number} = {number};\n") for number in range(33_000))
    repository.commit("main", "base", None, files)
    changed = ((name(number), "\n".join(lines(f"wide {number}", 35)) + "\n") for number in range(0, 33_000, 750))
    repository.commit("change", "change 44 files", "refs/heads/main", changed)
    repository.finish(path)


def history(path, commits):
    repository = Import(path)
    name = lambda number: f"src/file{number % 200:03}.rs"
    files = ((name(number), "\n".join(lines(f"history {number}", 60)) + "\n") for number in range(200))
    repository.commit("main", "base", None, files)
    write = repository.out.write
    for number in range(1, commits):
        if number == commits - 50:
            write(b"reset refs/heads/fork\nfrom refs/heads/main\n\n")
        text = f"// {number}\nlet value = {number};\n"
        # A minute apart: a search for the merge base stops at dates.
        stamp = f"committer Bench <bench@example.org> {1_700_000_000 + 60 * number} +0000\ndata 1\nc\n"
        write(f"commit refs/heads/main\n{stamp}M 100644 inline {name(number)}\ndata {len(text)}\n{text}\n".encode())
    changed = [(name(number), "\n".join(lines(f"fork {number}", 80)) + "\n") for number in range(3)]
    stamp = f"Bench <bench@example.org> {1_700_000_000 + 60 * commits} +0000"
    repository.commit("change", "change three files", "refs/heads/fork", changed, stamp)
    repository.finish(path)


# A function of each language, with its ending, by what it is called and two words.
FUNCTIONS = [
    ("ts", "import {{ {one} }} from './{two}'\n", """
/** Gives the {one} of every {two}. */
export function {camel}(items: string[], limit: number): string[] {{
  const seen: string[] = []
  for (const item of items) {{
    if (item.length > limit) continue
    try {{
      seen.push(read_{one}(item, {{ {two}: limit }}))
    }} catch (error) {{
      report(`no {one} for ${{item}}`, error)
    }}
  }}
  if (seen.length === 0) throw new Error('no {two}')
  return seen.map((each) => each.trim())
}}
"""),
    ("py", "from .{two} import {one}\n", """

def {snake}(items, limit):
    \"\"\"Give the {one} of every {two}.\"\"\"
    seen = []
    for item in items:
        if len(item) > limit:
            continue
        try:
            seen.append({one}(item, {two}=limit))
        except ValueError as error:
            report("no {one} for %s" % item, error)
    if not seen:
        raise LookupError("no {two}")
    return [each.strip() for each in seen]
"""),
    ("go", "package {one}\n\nimport \"fmt\"\n", """
// {pascal} gives the {one} of every {two}.
func {pascal}(items []string, limit int) ([]string, error) {{
	seen := []string{{}}
	for _, item := range items {{
		if len(item) > limit {{
			continue
		}}
		{one}, err := read(item, limit)
		if err != nil {{
			return nil, fmt.Errorf("no {one} for %s: %w", item, err)
		}}
		seen = append(seen, {one})
	}}
	return seen, nil
}}
"""),
    ("rs", "use crate::{two}::{one};\n", """
/// Gives the {one} of every {two}.
pub fn {snake}(items: &[String], limit: usize) -> Result<Vec<String>, Error> {{
    let mut seen = Vec::new();
    for item in items {{
        if item.len() > limit {{
            continue;
        }}
        let {one} = read(item, limit)?;
        seen.push({one}.trim().to_owned());
    }}
    match seen.is_empty() {{
        true => Err(Error::Missing("{two}")),
        false => Ok(seen),
    }}
}}
"""),
    ("java", "package org.example.{two};\n\nimport java.util.List;\n", """
class {pascal} {{
    /** Gives the {one} of every {two}. */
    public List<String> {camel}(List<String> items, int limit) {{
        List<String> seen = new ArrayList<>();
        for (String item : items) {{
            if (item.length() > limit) continue;
            try {{
                seen.add(read(item, limit));
            }} catch (IOException error) {{
                throw new IllegalStateException("no {one} for " + item, error);
            }}
        }}
        return seen;
    }}
}}
"""),
]


def function(draw, shape, number):
    one, two, three = (WORDS[draw.randrange(len(WORDS))] for _ in range(3))
    pascal = one.title() + two.title() + three.title() + str(number)
    names = {"camel": pascal[0].lower() + pascal[1:], "pascal": pascal, "snake": f"{one}_{two}_{three}{number}"}
    return shape.format(one=one, two=two, **names)


def code(path, wanted, functions=24, commits=5_000):
    """Modules of so many functions each, until there are as many lines as wanted; commits write one function anew."""
    draw, files, written = random.Random(7), [], 0
    while written < wanted:
        ending, begin, shape = FUNCTIONS[len(files) % len(FUNCTIONS)]
        one, two = (WORDS[draw.randrange(len(WORDS))] for _ in range(2))
        name = f"src/part{len(files) % 40:02}/{one}_{two}{len(files):04}.{ending}"
        parts = [begin.format(one=one, two=two), *(function(draw, shape, number) for number in range(functions))]
        files.append((name, shape, parts))
        written += sum(part.count("\n") for part in parts)
    repository = Import(path)
    whole = lambda file: (file[0], "".join(file[2]))
    repository.commit("main", "base", None, map(whole, files))
    for number in range(1, commits):
        changed = [files[draw.randrange(len(files))] for _ in range(3)]
        for _, shape, parts in changed:
            parts[draw.randrange(1, len(parts))] = function(draw, shape, number)
        stamp = f"Bench <bench@example.org> {1_700_000_000 + 60 * number} +0000"
        repository.commit("main", f"change {number}", None, map(whole, changed), stamp)
    repository.finish(path)


MAKERS = {
    "code-50k": lambda path: code(path, 50_000),
    "code-1m": lambda path: code(path, 1_000_000),
    "scale": scale,
    "million": million,
    "wide": wide,
    "history-1k": lambda path: history(path, 1_000),
    "history-100k": lambda path: history(path, 100_000),
    "history-1m": lambda path: history(path, 1_000_000),
}


def make(directory, names):
    os.makedirs(directory, exist_ok=True)
    for name in names:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            continue
        print(f"making {name}", file=sys.stderr, flush=True)
        MAKERS[name](path + ".part")
        os.rename(path + ".part", path)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    make(sys.argv[1], sys.argv[2:] or list(MAKERS))
