//! Spellings of one value, dialects, places and hostile texts.

use super::*;

/// Renders each leaf as a line: path, value as the tool sees it, and the source text of its place.
fn rendered(format: Format, text: &str) -> Vec<String> {
    let document = Document::parse(format, text).unwrap();
    let mut lines = Vec::new();
    for root in document.roots() {
        for leaf in root.leaves().unwrap() {
            let path: Vec<String> = leaf.path.iter().map(step).collect();
            let value = match leaf.value.plain() {
                Some(Plain::Null) => "null".to_owned(),
                Some(Plain::Flag(flag)) => flag.to_string(),
                Some(Plain::Number(number)) => number.to_owned(),
                Some(Plain::Text(text)) => format!("{text:?}"),
                Some(Plain::Code(code)) => format!("code {code}"),
                None if leaf.value.is_list() => "[]".to_owned(),
                None => "{}".to_owned(),
            };
            lines.push(format!("{} = {value} @ {:?}", path.join("."), leaf.value.span().of(text)));
        }
    }
    lines
}

fn step(step: &Step<'_>) -> String {
    match step {
        Step::Key(key) => (*key).to_owned(),
        Step::Item(position) => position.to_string(),
    }
}

#[track_caller]
fn check(format: Format, text: &str, expected: &[&str]) {
    assert_eq!(rendered(format, text), expected, "{text}");
}

/// Paths and values alone.
fn values(format: Format, text: &str) -> Vec<String> {
    rendered(format, text).iter().map(|line| line.split(" @ ").next().unwrap_or("").to_owned()).collect()
}

#[test]
fn yaml_spellings_of_one_value_are_one_tree() {
    let spellings = [
        "on: push\njobs:\n  a:\n    steps:\n      - run: make\n        if: true\n",
        "{on: push, jobs: {a: {steps: [{run: make, if: true}]}}}",
        "\"on\": 'push'\n\"jobs\": {\"a\": {\"steps\": [{\"run\": \"make\", \"if\": true}]}}\n",
        "? on\n: push\njobs: # all\n  a: &job\n    steps:\n    - \"run\": >-\n        make\n      if: true\n",
        "on: \"pu\\x73h\"\njobs:\n  a:\n    steps:\n      - {run: |-\n         make\n        , if: true}\n",
    ];
    let expected = ["on = \"push\"", "jobs.a.steps.0.run = \"make\"", "jobs.a.steps.0.if = true"];
    for text in &spellings[..4] {
        assert_eq!(values(Format::Yaml, text), expected, "{text}");
    }
}

#[test]
fn yaml_values_that_are_masked_secrets_are_no_aliases() {
    let text = "env:\n  ä: ********\n  b: [****, '****', x****]\n  c: {d: ****, e: 1}\nf: *****\ng: |\n  ****\nh: 2\n";
    let found = rendered(Format::Yaml, text);
    assert_eq!(found[0], "env.ä = \"x*******\" @ \"********\"");
    assert_eq!(found[1..4].iter().filter(|line| line.contains("****")).count(), 3, "{found:?}");
    assert_eq!(found[5], "env.c.e = 1 @ \"1\"");
    assert_eq!(found.last().unwrap(), "h = 2 @ \"2\"", "{found:?}");
    assert!(
        Document::parse(Format::Yaml, "a: *b\n").is_err()
            && Document::parse(Format::Yaml, "a: ***\n").is_err()
    );
}

#[test]
fn yaml_aliases_and_merges_have_the_values_they_stand_for() {
    let text = "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a\nd:\n  <<: [{x: 7}, *a]\n";
    let expected = ["a.x = 1", "a.y = 2", "b.x = 1", "b.y = 3", "c.x = 1", "c.y = 2", "d.y = 2", "d.x = 7"];
    assert_eq!(values(Format::Yaml, text), expected);
    let document = Document::parse(Format::Yaml, text).unwrap();
    let alias = document.root().get("c").unwrap();
    assert_eq!((alias.span().of(text), alias.definition().of(text)), ("*a", "{x: 1, y: 2}"));
}

#[test]
fn last_member_of_a_name_counts_and_the_others_are_listed() {
    for (format, text) in
        [(Format::Json, "{\"a\": 1, \"b\": 2, \"a\": 3}"), (Format::Yaml, "a: 1\nb: 2\na: 3\n")]
    {
        let document = Document::parse(format, text).unwrap();
        assert_eq!(document.root().get("a").unwrap().text(), Some("3"));
        let shadowed: Vec<&str> =
            document.shadowed().iter().map(|shadowed| shadowed.entry.value.span().of(text)).collect();
        assert_eq!(shadowed, ["1"], "{text}");
    }
    assert!(Document::parse(Format::Toml, "a = 1\na = 2\n").is_err());
}

#[test]
fn yaml_streams_tags_and_types() {
    check(
        Format::Yaml,
        "a: !!str 5\nb: ! 5\nc: 5\nd: ~\ne:\nf: 'no'\ng: !reference [x]\n---\nü: [é, {}]\n",
        &[
            "a = \"5\" @ \"5\"",
            "b = \"5\" @ \"5\"",
            "c = 5 @ \"5\"",
            "d = null @ \"~\"",
            "e = null @ \"\"",
            "f = \"no\" @ \"'no'\"",
            "g.0 = \"x\" @ \"x\"",
            "ü.0 = \"é\" @ \"é\"",
            "ü.1 = {} @ \"{}\"",
        ],
    );
}

#[test]
fn toml_spellings_of_one_value_are_one_tree() {
    let spellings = [
        "[tool.mypy]\nstrict = false\nfail_under = 10\n",
        "tool.mypy.strict = false\ntool.mypy.fail_under = 10\n",
        "tool = { mypy = { strict = false, fail_under = 10 } }\n",
        "[tool]\nmypy = { \"strict\" = false, 'fail_under' = 10 }\n",
    ];
    for text in spellings {
        let expected = ["tool.mypy.strict = false", "tool.mypy.fail_under = 10"];
        assert_eq!(values(Format::Toml, text), expected, "{text}");
    }
}

#[test]
fn json_has_comments_trailing_commas_and_quotes_of_its_dialects() {
    check(
        Format::Json,
        "\u{feff}{ // one\n 'a': [1, 0x2F,], \"b\\u0020c\": null, d: .5 /* x */ }",
        &["a.0 = 1 @ \"1\"", "a.1 = 0x2F @ \"0x2F\"", "b c = null @ \"null\"", "d = .5 @ \".5\""],
    );
    for broken in ["{\"a\": 1 \"b\": 2}", "[1 2]", "{", "{\"a\"}", "[1]]", "", " // none\n"] {
        assert!(Document::parse(Format::Json, broken).is_err(), "{broken}");
    }
}

#[test]
fn modules_export_what_is_written_out() {
    let spellings = [
        "export default { a: { 'b-c': [1, \"x\"] }, d: true };",
        "module.exports = { \"a\": { \"b-c\": [1, `x`,] }, [\"d\"]: true }",
        "import { f } from 'x';\nconst config = { a: { 'b-c': [1, 'x'] }, d: true };\nexport default config;",
        "export default defineConfig({ a: { 'b-c': [1, '\\u0078'] }, d: true } as const);",
        "export default defineConfig(() => ({ a: { 'b-c': [1, 'x'] }, d: true } satisfies Config));",
        "const config: Config = { a: { 'b-c': [1, 'x'] }, d: true };\nmodule.exports = Object.freeze(config);",
        "export default defineConfig(async ({ mode }) => {\n  return { a: { 'b-c': [1, 'x'] }, d: true };\n});",
    ];
    for text in spellings {
        assert_eq!(values(Format::Ecma, text), ["a.b-c.0 = 1", "a.b-c.1 = \"x\"", "d = true"], "{text}");
    }
    check(
        Format::Ecma,
        "export default config(base, [{ ...rest, f() {}, g: x ? 1 : 2, h }])",
        &[
            "0 = code base @ \"base\"",
            "1.0.... = code rest @ \"rest\"",
            "1.0.g = code x ? 1 : 2 @ \"x ? 1 : 2\"",
            "1.0.h = code h @ \"h\"",
        ],
    );
    for text in ["export const a = 1;", "", "export default"] {
        assert!(Document::parse(Format::Ecma, text).is_err(), "{text}");
    }
}

#[test]
fn ini_options_go_on_below_and_keep_their_sections() {
    check(
        Format::Ini,
        "top = 1\n[a b]\n; c\nX: y # z\nfail_under =\n  10\nlist =\n    one\n    # no\n\n    two\n\nbare\n[d]\n",
        &[
            "top = 1 @ \"1\"",
            "a b.x = \"y # z\" @ \"y # z\"",
            "a b.fail_under = \"\\n10\" @ \"10\"",
            "a b.list = \"\\none\\n\\ntwo\" @ \"one\\n    # no\\n\\n    two\"",
            "a b.bare = null @ \"\"",
            "d = {} @ \"[d]\"",
        ],
    );
}

#[test]
fn a_list_of_ignored_paths_has_its_patterns() {
    check(
        Format::Ignore,
        "# c\n/dist/\n\n  *.min.js \n!keep\n",
        &["patterns.0 = \"/dist/\" @ \"/dist/\"", "patterns.1 = \"*.min.js\" @ \"*.min.js\""],
    );
}

#[test]
fn npmrc_parts_names_at_the_equals_sign() {
    check(
        Format::Npmrc,
        "registry=https://r/ ; c\n//r/:_authToken=${TOKEN}\n@Scope:registry = \"https://s/#a\"\n  # c\nstrict-ssl\n",
        &[
            "registry = \"https://r/\" @ \"https://r/\"",
            "//r/:_authToken = \"${TOKEN}\" @ \"${TOKEN}\"",
            "@Scope:registry = \"https://s/#a\" @ \"https://s/#a\"",
            "strict-ssl = null @ \"\"",
        ],
    );
    check(Format::Ini, "[*.[ch]]\na = 1\n", &["*.[ch].a = 1 @ \"1\""]);
}

#[test]
fn xml_elements_are_maps_of_attributes_text_and_children() {
    check(
        Format::Xml,
        "<?xml version=\"1.0\"?>\n<a x='1'>\n  <b>c</b>\n  <b y=\"&lt;\"/>\n  d&amp;e</a>",
        &[
            "a.@x = \"1\" @ \"1\"",
            "a.b.#text = \"c\" @ \"c\"",
            "a.b.@y = \"<\" @ \"&lt;\"",
            "a.#text = \"d&e\" @ \"\\n  d&amp;e\"",
        ],
    );
}

#[test]
fn a_place_in_a_decoded_text_is_found_in_the_source() {
    let cases = [
        (Format::Yaml, "run: |\n    one\n      two\n    three\n", "two"),
        (Format::Yaml, "run: >\n    one\n    two\n\n    three\n", "three"),
        (Format::Yaml, "run: \"one\\n\\x41 two\\\n   three\"\n", "three"),
        (Format::Yaml, "run: 'it''s two'\n", "two"),
        (Format::Yaml, "run: one\n  two\n  three\n", "three"),
        (Format::Yaml, "run: plain two\n", "two"),
        (Format::Json, "{\"run\": \"\\u00e9\\t two\"}", "two"),
        (Format::Toml, "run = '''\none\ntwo'''\n", "two"),
        (Format::Toml, "run = \"\"\"\none \\\n   two\"\"\"\n", "two"),
        (Format::Toml, "run = 'a two'\n", "two"),
    ];
    for (format, text, word) in cases {
        let document = Document::parse(format, text).unwrap();
        let run = document.root().get("run").unwrap();
        let offset = run.text().unwrap().find(word).unwrap();
        assert_eq!(Some(run.place_of(offset)), text.find(word), "{text}");
    }
}

#[test]
fn words_for_true_and_false() {
    for (text, expected) in [
        ("true", Some(true)),
        ("${{ true }}", Some(true)),
        ("${{!false}}", Some(true)),
        ("${{ 'true' }}", Some(true)),
        ("No", Some(false)),
        ("off", Some(false)),
        ("${{ inputs.x }}", None),
        ("", None),
    ] {
        assert_eq!(scalar::flag(text), expected, "{text}");
    }
}

#[test]
fn hostile_texts_end_with_an_error_or_a_bounded_tree() {
    let deep = 100_000;
    for (format, text) in [
        (Format::Yaml, "[".repeat(deep)),
        (Format::Yaml, "- ".repeat(deep)),
        (Format::Yaml, "{a: ".repeat(deep)),
        (Format::Json, "[".repeat(deep)),
        (Format::Json, "{\"a\":".repeat(deep)),
        (Format::Toml, format!("a = {}", "[".repeat(deep))),
        (Format::Toml, format!("a = {}", "{a=".repeat(deep))),
        (Format::Toml, format!("[{}a]", "a.".repeat(deep))),
        (Format::Xml, "<a>".repeat(deep)),
        (Format::Yaml, "a: &a [*a]\n".to_owned()),
        (Format::Yaml, "\u{0}".to_owned()),
    ] {
        assert!(Document::parse(format, &text).is_err(), "{format:?} {}", &text[..text.len().min(20)]);
    }
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let below = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(", ")));
    }
    let document = Document::parse(Format::Yaml, &bomb).unwrap();
    assert_eq!(document.root().leaves().unwrap_err(), ReadError::TooLarge);
}

#[test]
fn a_place_in_a_block_whose_second_line_is_deeper_is_found() {
    let text = "a:\n  - run: |\n      curl \\\n        -k\n      git\n";
    let document = Document::parse(Format::Yaml, text).unwrap();
    let run = document.root().at(&["a"]).unwrap().items().next().unwrap().get("run").unwrap();
    for word in ["curl", "-k", "git"] {
        let offset = run.text().unwrap().find(word).unwrap();
        assert_eq!(Some(run.place_of(offset)), text.find(word), "{word}");
    }
}
