"""Work that a loop does again and again, and work that is never done."""

from .base import Kind, in_function, rules

COMPILED = {
    "python": (["import re", "for line in value:", "»    pattern = re.compile(r'^[a-z]+$')", "    print(pattern.match(line))"],
               ["import re", "while value:", "»    if re.compile('[0-9]+').search(value.pop()):", "        return True"]),
    "javascript": (["for (const line of value) {", "»  const pattern = new RegExp('^[a-z]+$');", "  console.log(pattern.test(line));", "}"],
                   ["value.split('').length;", "for (let at = 0; at < value.length; at++) {", "»  if (new RegExp('^[0-9]+$', 'i').test(value[at])) return at;", "}"]),
    "go": (["for _, word := range strings.Fields(value) {", "»\tpattern := regexp.MustCompile(`^[a-z]+$`)", "\tpattern.MatchString(word)", "}"],
           ["for i := 0; i < 3; i++ {", "»\tre, _ := regexp.Compile(\"[0-9]+\")", "\tre.MatchString(value)", "}"]),
    "rust": (["for line in value.lines() {", '»    let pattern = regex::Regex::new("^[a-z]+$").unwrap();', "    let _ = pattern.is_match(line);", "}"],
             ["let mut lines = value.lines();", "while let Some(line) = lines.next() {", '»    if Regex::new(r"[0-9]+").unwrap().is_match(line) { break; }', "}"]),
    "java": (["for (String line : value.split(\"\\n\")) {", '»  Pattern pattern = Pattern.compile("^[a-z]+$");', "  pattern.matcher(line).find();", "}"],
             ["while (value != null) {", '»  if (Pattern.compile("[0-9]+").matcher(value).find()) { return; }', "}"]),
}  # fmt: skip
COMPILED_TWINS = {
    "python": (["import re", "pattern = re.compile(r'^[a-z]+$')", "for line in value:", "    print(pattern.match(line))"],
               ["import re", "for line in value:", "    print(re.compile(line))"]),
    "javascript": (["const pattern = new RegExp('^[a-z]+$');", "for (const line of value) {", "  console.log(pattern.test(line));", "}"],
                   ["for (const line of value) {", "  console.log(new RegExp(line));", "}"]),
    "go": (["pattern := regexp.MustCompile(`^[a-z]+$`)", "for _, word := range strings.Fields(value) {", "\tpattern.MatchString(word)", "}"],
           ["for _, word := range strings.Fields(value) {", "\tregexp.MustCompile(word)", "}"]),
    "rust": (['let pattern = regex::Regex::new("^[a-z]+$").unwrap();', "for line in value.lines() {", "    let _ = pattern.is_match(line);", "}"],),
    "java": (['Pattern pattern = Pattern.compile("^[a-z]+$");', "for (String line : value.split(\"\\n\")) {", "  pattern.matcher(line).find();", "}"],),
}  # fmt: skip
WAITED = {
    "python": (["async def all_of(ids):", "    for each in ids:", "»        await value(each)", "return all_of"],
               ["async def all_of(ids):", "    found = []", "    for each in ids:", "»        found.append(await value.load(each))",
                "    return found", "return all_of"]),
    "javascript": (["return async (ids, load) => {", "  for (const id of ids) {", "»    await load(id);", "  }", "};"],
                   ["return async (ids, load) => {", "  const found = [];", "  for (const id of ids) {", "»    found.push(await load(id));",
                    "  }", "  return found;", "};"]),
}  # fmt: skip
WAITED_TWINS = {
    "python": (["async def all_of(ids):", "    await asyncio.gather(*(value(each) for each in ids))", "return all_of"],
               ["async def all_of(ids):", "    for each in ids:", "        if await value(each):", "            return each", "return all_of"]),
    "javascript": (["return async (ids, load) => Promise.all(ids.map((id) => load(id)));"],
                   ["return async (ids, load) => {", "  for (const id of ids) {", "    if (await load(id)) return id;", "  }", "};"]),
}  # fmt: skip

STORED = ["async def stored(row):", "    await value.put(row)"]
DROPPED = {
    "python": ([*STORED, "async def all_of(rows):", "    for row in rows:", "»        stored(row)", "return all_of"],
               [*STORED, "async def first_of(rows):", "    if rows:", "»        stored(rows[0])", "    return len(rows)", "return first_of"],
               [*STORED, "async def last_of(rows):", "»    stored(", "        rows[-1],", "    )", "return last_of"],
               ["class Extra:", "    async def close(self):", "        await value.close()", "    async def leave(self):",
                "»        self.close()", "return Extra"]),
}  # fmt: skip
DROPPED_TWINS = {
    "python": ([*STORED, "async def all_of(rows):", "    for row in rows:", "        await stored(row)", "return all_of"],
               [*STORED, "async def all_of(rows):", "    await asyncio.gather(*(stored(row) for row in rows))", "return all_of"],
               ["def stored(row):", "    value.put(row)", "async def all_of(rows):", "    stored(rows)", "return all_of"],
               ["class Extra:", "    def close(self):", "        value.close()", "    async def leave(self):", "        self.close()",
                "return Extra"]),
}  # fmt: skip

KINDS = [
    Kind("performance", "regex-in-loop", rules("costly-loop", "regex-compiled"), in_function(COMPILED, COMPILED_TWINS)),
    Kind("performance", "await-in-loop", rules("costly-loop", "awaited-in-turn"), in_function(WAITED, WAITED_TWINS)),
    Kind("performance", "forgotten-await", rules("forgotten-await", "coroutine-never-runs"), in_function(DROPPED, DROPPED_TWINS)),
]
