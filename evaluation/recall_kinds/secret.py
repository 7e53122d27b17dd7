"""Credentials in all their forms. They are put together when they are needed, so that none stands in this file."""

import base64
import string

from .base import Case, Kind, at_end, language_of, rules, some_file

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
WORDS, HEX = UPPER + LOWER + DIGITS, "0123456789abcdef"


def random_text(chance, length, letters=WORDS):
    """Random letters, with at least one of each sort that there is."""
    sorts = [sort for sort in (UPPER, LOWER, DIGITS) if set(sort) & set(letters)]
    text = [chance.choice(sorted(set(sort) & set(letters))) for sort in sorts]
    text += [chance.choice(letters) for _ in range(length - len(text))]
    chance.shuffle(text)
    return "".join(text)


# The beginning of each format in two parts, and what follows it.
PROVIDERS = {
    "github": lambda c: "gh" + "p_" + random_text(c, 36),
    "github fine-grained": lambda c: "github" + "_pat_" + random_text(c, 22) + "_" + random_text(c, 59),
    "gitlab": lambda c: "gl" + "pat-" + random_text(c, 20),
    "stripe": lambda c: "sk_" + "live_" + random_text(c, 24),
    "slack": lambda c: "xo" + f"xb-{random_text(c, 12, DIGITS)}-{random_text(c, 12, DIGITS)}-{random_text(c, 24)}",
    "google": lambda c: "AI" + "za" + random_text(c, 35, WORDS + "-_"),
    "npm": lambda c: "np" + "m_" + random_text(c, 36),
    "sendgrid": lambda c: "S" + f"G.{random_text(c, 22)}.{random_text(c, 43)}",
    "hugging face": lambda c: "h" + "f_" + random_text(c, 34, UPPER + LOWER),
    "digitalocean": lambda c: "do" + "p_v1_" + random_text(c, 64, HEX),
    "shopify": lambda c: "sh" + "pat_" + random_text(c, 32, HEX),
    "twilio": lambda c: "S" + "K" + random_text(c, 32, HEX),
    "telegram": lambda c: random_text(c, 10, "123456789") + ":AA" + random_text(c, 33),
    "anthropic": lambda c: "sk-" + "ant-api03-" + random_text(c, 93) + "AA",
    "openai": lambda c: "sk-" + "proj-" + random_text(c, 20) + "T3Blbk" + "FJ" + random_text(c, 20),
}

# How a text gets a name in each language, and how one is read from the environment.
ASSIGNED = {
    "python": ("{snake} = {value}", 'import os\n{snake} = os.environ["{screaming}"]'),
    "javascript": ("export const {camel} = {value};", "export const {camel} = process.env.{screaming};"),
    "typescript": ("export const {camel}: string = {value};", "export const {camel} = process.env.{screaming};"),
    "go": ("var {camel} = {value}", 'var {camel} = os.Getenv("{screaming}")'),
    "rust": ("pub const {screaming}: &str = {value};", 'pub const {screaming}: Option<&str> = option_env!("{screaming}");'),
    "java": ("  static final String {screaming} = {value};", '  static final String {screaming} = System.getenv("{screaming}");'),
}


def named(form, words, value=""):
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    quoted = '"' + value + '"'
    return form.format(snake="_".join(words), screaming="_".join(words).upper(), camel=camel, value=quoted)


def assigned(tree, chance, pairs, variant, twins=()):
    """Texts with names at the end of a file of product code; the twin reads them from the environment or is harmless."""
    path = some_file(tree, chance)
    if path is None:
        return None
    text, language = tree.read(path), language_of(path)
    form, from_outside = ASSIGNED[language]
    fault_lines = [named(form, words, value) for words, value in pairs]
    fault, first = at_end(text, language, ["", *fault_lines])
    if fault is None:
        return None
    honest = chance.choice(["environment", *twins])
    if honest == "environment":
        lines = [line for words, _ in pairs for line in named(from_outside, words).split("\n")]
    else:
        lines = [named(form, words, honest) for words, _ in pairs]
    twin, _ = at_end(text, language, ["", *lines])
    return Case(path, fault, twin, range(first + 1, first + 1 + len(pairs)), variant, language)


def provider(tree, chance):
    name = chance.choice(sorted(PROVIDERS))
    words = [*name.replace("fine-grained", "").replace(" ", "-").strip("-").split("-"), chance.choice(["token", "key"])]
    if name == "twilio":
        words = ["twilio", "api", "key"]
    twins = ["<your token>", "changeme", "xxxxxxxxxxxxxxxxxxxx"]
    return assigned(tree, chance, [(words, PROVIDERS[name](chance))], name, twins)


def aws_pair(tree, chance):
    key = chance.choice(["AK", "AS"]) + "IA" + random_text(chance, 16, UPPER + "234567")
    other = random_text(chance, 40, WORDS + "+/")
    pairs = [(["aws", "access", "key", "id"], key), (["aws", "secret", "access", "key"], other)]
    return assigned(tree, chance, pairs, "pair")


def env_file(tree, chance):
    name = chance.choice(sorted(PROVIDERS))
    path = chance.choice([".env", ".env.production", "config/.env", ".env.local"])
    if path in tree.paths:
        return None
    password, token = random_text(chance, 24), PROVIDERS[name](chance)
    rows = [("NODE_ENV", "production"), ("PORT", "8080"), ("DATABASE_PASSWORD", password),
            (name.split()[0].upper() + "_TOKEN", token)]  # fmt: skip
    write = lambda rows: "".join(f"{key}={value}\n" for key, value in rows)
    twin = {path + ".example": write(rows[:2] + [(key, chance.choice(["", "changeme"])) for key, _ in rows[2:]])}
    return Case(path, write(rows), twin, [3, 4], f"{path} {name}", "env")


def private_key(tree, chance):
    sort = chance.choice(["RSA ", "EC ", "", "OPENSSH "])
    mark = lambda word, what: f"-----{word} {what} KEY-----"
    raw = bytes(chance.getrandbits(8) for _ in range(chance.choice([288, 600, 1190])))
    head = {"OPENSSH ": b"openssh-key-v1\0\0\0\0\4none", "": b"\x30\x82\x04\xbe\x02\x01\x00"}.get(sort, b"\x30\x82\x04\xa4\x02\x01")
    body = base64.b64encode(head + raw).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    block = lambda what: "\n".join([mark("BEGIN", what), *lines, mark("END", what)]) + "\n"
    path = chance.choice(["deploy/server.key", "config/id_rsa", "certs/private.pem"])
    return Case(path, block(sort + "PRIVATE"), block("PUBLIC"), [1], sort.strip() or "PKCS8", "pem")


def credential_url(tree, chance):
    password = random_text(chance, 16)
    scheme, host = chance.choice([
        ("postgres", "db.internal.acme-corp.io:5432/orders"), ("mongodb+srv", "cluster0.ab1cd.mongodb.net/main"),
        ("amqp", "queue.acme-corp.io:5672"), ("https", "git.acme-corp.io/team/repo.git"), ("redis", "cache.acme-corp.io:6379/0"),
        ("mysql", "mysql.acme-corp.io/shop"),
    ])  # fmt: skip
    user = chance.choice(["admin", "svc_orders", "deploy"])
    twins = [f"{scheme}://{host}", f"{scheme}://{user}@{host}", f"{scheme}://user:password@localhost/test"]
    return assigned(tree, chance, [(["database", "url"], f"{scheme}://{user}:{password}@{host}")], scheme, twins)


def generic(tree, chance):
    words = chance.choice([["db", "password"], ["client", "secret"], ["auth", "token"], ["signing", "key"],
                           ["encryption", "key"], ["api", "key"], ["session", "secret"], ["admin", "password"]])  # fmt: skip
    value = chance.choice([
        lambda: random_text(chance, 32, HEX), lambda: random_text(chance, 24), lambda: random_text(chance, 40),
        lambda: base64.b64encode(bytes(chance.getrandbits(8) for _ in range(32))).decode(),
        lambda: random_text(chance, 20, WORDS + "!@#%^*"),
    ])()  # fmt: skip
    return assigned(tree, chance, [(words, value)], " ".join(words), ["changeme", "your-secret-here", "password_field"])


FOUND = rules("secret-token", "provider-token", "private-key", "credential-url", "generic-credential")
KINDS = [
    Kind("secrets", "provider-key", FOUND, provider),
    Kind("secrets", "env-file", FOUND, env_file),
    Kind("secrets", "private-key", FOUND, private_key),
    Kind("secrets", "aws-pair", FOUND, aws_pair),
    Kind("secrets", "credential-url", FOUND, credential_url),
    Kind("generic secrets", "generic-secret", FOUND, generic),
]
