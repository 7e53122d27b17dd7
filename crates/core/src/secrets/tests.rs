//! Tables of what is found and what is not; tokens are put together here so that no file holds one.

use proptest::prelude::*;

use super::*;

/// Letters and digits that look drawn, always the same.
fn drawn(length: usize, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ length as u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..length).map(|_| letter()).collect()
}

fn hex(length: usize) -> String {
    drawn(length, "0123456789abcdef")
}

fn alnum(length: usize) -> String {
    drawn(length, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
}

fn upper(length: usize) -> String {
    drawn(length, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
}

fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    mask(&mut masked, &find(text));
    masked
}

/// Returns the detectors that match, in order; one for a private key, although each of its lines is masked by itself.
fn detectors(text: &str) -> Vec<&'static str> {
    let mut found: Vec<&str> = find(text).iter().map(|span| span.detector).collect();
    found.dedup_by(|next, one| next == one && *one == "private-key");
    found
}

#[test]
fn a_token_after_an_escape_or_a_colour_is_found_whoever_spelled_it() {
    let token = format!("ghp_{}", alnum(36));
    let escapes = [
        "\\n",
        "\\0",
        "\\e",
        "\\x1b",
        "\\033",
        "\\u003c",
        "\\U0000001b",
        "%3D",
        "#x1B",
        "&#x3c;",
        "&lt;",
        "&lt",
        "&Tab;",
        "&#60",
    ];
    let colours = ["\x1b", "\\e", "\\033", "\\x1b", "\\u001B", "#x1B", "&#27;", "&#x1b;"];
    let coloured =
        colours.iter().flat_map(|escape| [format!("{escape}[31m"), format!("{escape}[1;38;5;196m")]);
    for before in escapes.map(str::to_owned).into_iter().chain(coloured) {
        assert_eq!(detectors(&format!("x {before}{token} y")), ["github-token"], "{before:?}");
    }
    for before in ["a", "31m", "[31m", "\\q", "u003c", "x1b"] {
        assert!(detectors(&format!("x {before}{token} y")).is_empty(), "{before:?}");
    }
}

/// A character in a notation that something reads as that character.
fn spelt(character: char, notation: usize) -> String {
    let number = character as u32;
    match notation {
        0 => format!("\\u{number:04x}"),
        1 => format!("\\x{number:02X}"),
        2 => format!("\\u{{{number:x}}}"),
        3 => format!("\\U{number:08x}"),
        4 => format!("\\{number:03o}"),
        5 => format!("%{number:02x}"),
        6 => format!("%25{number:02X}"),
        7 => format!("&#{number};"),
        8 => format!("&amp;#x{number:x};"),
        9 => format!("\\\\u{number:04X}"),
        10 => format!("\u{1b}[1;31m{character}\\u001b[0m"),
        11 if character == '_' => "&lowbar;".to_owned(),
        12 if character == '_' => "&amp;UnderBar;".to_owned(),
        _ => character.to_string(),
    }
}

proptest! {
    #[test]
    fn a_token_is_found_and_masked_whatever_spells_its_letters(
        notations in proptest::collection::vec(0_usize..20, 40),
        before in prop_oneof!["[ \"'=(]{0,3}", Just("text\\n".to_owned()), Just("a &lt;".to_owned()), Just("&gt;\\u0041\n".to_owned())],
    ) {
        let token = format!("ghp_{}", alnum(36));
        let spelling: String = token.chars().zip(&notations).map(|(letter, notation)| spelt(letter, *notation)).collect();
        let text = format!("é one %20 line\n{before}{spelling}\\u0022 and more\nlast &amp; line");
        let shown = masked(&text);
        prop_assert_eq!(shown.len(), text.len());
        prop_assert!(detectors(&text).contains(&"github-token"), "{}", text);
        // Everything after the prefix is gone, in each notation.
        let end = text.find("\\u0022 and").unwrap_or_default();
        let body: String = token[4..].chars().zip(&notations[4..]).map(|(letter, notation)| spelt(letter, *notation)).collect();
        prop_assert_eq!(&shown[..end - body.len()], &text[..end - body.len()]);
        prop_assert!(shown[end - body.len()..end].contains("****"), "{}", shown);
        prop_assert!(!shown[end - body.len()..end].chars().any(char::is_alphanumeric) || notations.contains(&10), "{}", shown);
        prop_assert_eq!(&shown[end..], &text[end..]);
    }
}

#[test]
fn references_of_html_are_read_with_and_without_their_semicolon() {
    // A digit behind an open reference would belong to it.
    let body = format!("Q{}", alnum(35));
    for start in [
        "ghp&lowbar;",
        "ghp&UnderBar;",
        "ghp&amp;lowbar;",
        "&#103hp_",
        "&#0103hp_",
        "&#x67hp_",
        "&#X67;hp_",
        "&#103&#104&#112&#95",
        "&#103;&#x68&#112;&#x5f;",
    ] {
        let text = format!("<p>{start}{body}</p>");
        assert_eq!(detectors(&text), ["github-token"], "{text}");
        assert!(!masked(&text).contains(&body), "{text}");
    }
    for start in ["ghp&lowbar", "ghp&unknown;", "ghp&;", "ghp&#;"] {
        assert!(detectors(&format!("<p>{start}{body}</p>")).is_empty(), "{start}");
    }
}

#[test]
fn what_was_read_from_escapes_has_its_place_unless_lines_were_left_out_in_between() {
    let text = "a \\x41\\n\nplain\nb \\x42\n";
    let spelled = spelled::Spelled::new(text.as_bytes());
    assert_eq!(spelled.bytes, b"a A\n\nb B\n");
    assert_eq!([spelled.origin(2..3), spelled.origin(0..4)], [Some(2..6), Some(0..8)]);
    assert_eq!(spelled.origin(5..8).map(|span| &text[span]), Some("b \\x42"));
    assert_eq!(spelled.origin(2..6), None);
}

#[test]
fn vendor_tokens_are_found_and_keep_their_public_prefix() {
    for (prefix, body, detector) in [
        ("AKIA", upper(16), "aws-access-key-id"),
        ("ghp_", alnum(36), "github-token"),
        ("github_pat_", format!("{}_{}", alnum(22), alnum(59)), "github-fine-grained-token"),
        ("glpat-", alnum(20), "gitlab-token"),
        ("xoxb-", format!("{}-{}-{}", "274839105562", "583920174628", alnum(24)), "slack-token"),
        ("sk_live_", alnum(24), "stripe-key"),
        ("sk-ant-", format!("api03-{}AA", alnum(93)), "anthropic-key"),
        ("sk-proj-", alnum(60), "openai-project-key"),
        ("AIza", alnum(35), "gcp-api-key"),
        ("npm_", alnum(36), "npm-token"),
        ("dckr_pat_", alnum(27), "docker-token"),
        ("hf_", alnum(34), "huggingface-token"),
        ("SG.", format!("{}.{}", alnum(22), alnum(43)), "sendgrid-key"),
        ("dop_v1_", hex(64), "digitalocean-token"),
        ("shpat_", hex(32), "shopify-token"),
        ("hvs.", alnum(95), "vault-token"),
        ("rubygems_", hex(48), "rubygems-token"),
        ("glsa_", format!("{}_{}", alnum(32), hex(8)), "grafana-service-token"),
    ] {
        for text in [
            format!("{prefix}{body}"),
            format!("export X={prefix}{body}\n"),
            format!("let x = \"{prefix}{body}\";"),
            format!("call({prefix}{body})"),
            format!("{{\"a\":\"b\\n{prefix}{body}\"}}"),
        ] {
            assert_eq!(detectors(&text), [detector], "{text}");
            assert_eq!(masked(&text), text.replace(&body, &"*".repeat(body.len())), "{text}");
        }
    }
}

#[test]
fn tokens_without_a_prefix_are_found_by_what_follows_or_by_their_name() {
    for (text, detector) in [
        (format!("bot = {}:AA{}", 7_264_918_305_u64, alnum(33)), "telegram-token"),
        (format!("k: {}-us14", hex(32)), "mailchimp-key"),
        (format!("a{}8Q~{}", "Zp", alnum(34)), "azure-client-secret"),
        (format!("AccountName=x;AccountKey={}==;", alnum(86)), "azure-storage-key"),
        (format!("DD_API_KEY={}", hex(32)), "datadog-api-key"),
        (format!("aws_secret_access_key = {}", alnum(40)), "aws-secret-access-key"),
        (
            format!("https://hooks.slack.com/services/T{}/B{}/{}", upper(10), upper(9), alnum(24)),
            "slack-webhook",
        ),
        (format!("BOT_TOKEN = \"MT{}.G{}.{}\"", alnum(24), alnum(5), alnum(38)), "discord-bot-token"),
        (format!("curl -u admin:{} https://a.io", alnum(16)), "basic-authorization"),
        (format!("Authorization: Bearer {}", alnum(40)), "bearer-token"),
    ] {
        assert_eq!(detectors(&text), [detector], "{text}");
    }
}

#[test]
fn a_token_in_pieces_is_found_and_each_piece_is_masked() {
    let (first, second) = (alnum(20), hex(16));
    for seam in [
        "\" + \"",
        "\" \"",
        "\"\"",
        "' + '",
        "\" +\n    \"",
        "\"\n    + \"",
        "\"\n    \"",
        "\" + // one\n    \"",
        "\" . \"",
        "\" .. \"",
        "\" & \"",
        "\" <> \"",
        "\" ++ \"",
        "\" + f\"",
        "${\"",
        "\"}",
        "\".concat(\"",
        "\") + (\"",
        "%s\" % \"",
        "{}\".format(\"",
        "\").append(\"",
        "\");\n  out.append(\"",
        "\" + \"\" + \"",
        "\\\n",
        "\";\nkey += \"",
        "\"\nkey = key + \"",
    ] {
        for (before, split) in [("", 0), ("gh", 2), ("ghp_", 4)] {
            let text = match before {
                "" => format!("key = \"ghp_{first}{seam}{second}\";"),
                _ => format!("key = \"{before}{seam}{}{first}{second}\";", &"ghp_"[split..]),
            };
            let found = detectors(&text);
            assert!(!found.is_empty() && found.iter().all(|own| *own == "github-token"), "{text}");
            let masked = masked(&text);
            assert!(!masked.contains(&first) && !masked.contains(&second), "{masked}");
            assert_eq!(masked.len(), text.len());
            assert!(find(&masked).is_empty(), "{masked}");
        }
    }
    let list = format!("key = [\"ghp_{first}\", \"{second}\"]");
    assert!(detectors(&list).is_empty());
    for joined in [format!("{list}.join(\"\")"), format!("key = \"\".join([\"ghp_{first}\", \"{second}\"])")]
    {
        assert_eq!(detectors(&joined), ["github-token", "github-token"], "{joined}");
    }
}

#[test]
fn words_that_are_joined_are_no_secret() {
    for text in [
        format!("path = \"{}\" + \"{}\"", alnum(20), alnum(20)),
        format!("token = \"{}\" + suffix", alnum(6)),
        "prefixes = [\"ghp_\", \"gho_\", \"ghu_\"].join(\"|\")".to_owned(),
        format!("id = \"npm_\" + name + \"{}\"", alnum(36)),
        "message = \"sk-\" + \"the longest words that people write here\"".to_owned(),
    ] {
        assert!(detectors(&text).is_empty(), "{text}");
    }
}

#[test]
fn an_aws_secret_beside_its_key_id_is_found_without_a_name() {
    let (id, secret) = (upper(16), alnum(40));
    assert_eq!(detectors(&format!("ci,AKIA{id},{secret}\n")), ["aws-access-key-id", "aws-secret-access-key"]);
}

#[test]
fn look_alikes_are_left_alone() {
    for text in [
        format!("AKIA{}EXAMPLE", "IOSFODNN7"),
        format!("ghp_{}", "x".repeat(36)),
        format!("ghp_{}EXAMPLE{}", alnum(15), alnum(14)),
        format!("sk_test_{}{}", "4eC39HqLyjWDarj", "tT1zdp7dc"),
        format!("db_password = \"{}{}\"", "P@ssw0rd!2024", "#Qx"),
        format!("ghp_{}", "0123456789abcdefghijklmnopqrstuvwxyz"),
        format!("token ghp_{} is too short", alnum(30)),
        format!("x{}{}", "AKIA", upper(16)),
        format!("commit {}", hex(40)),
        format!("sha256:{}", hex(64)),
        format!("\"integrity\": \"sha512-{}==\"", alnum(86)),
        format!("src=\"data:image/png;base64,{}\"", alnum(900)),
        format!("password_hash = \"{}\"", hex(64)),
        format!("checksum = \"{}\"", hex(64)),
        format!("client_id: {}", hex(32)),
        format!("next_page_token = \"{}\"", alnum(32)),
        format!("mock_token = \"{}\"", alnum(32)),
        format!("secret: ENC[AES256_GCM,data:{}]", alnum(40)),
        "secretName: \"app-decryption-secret\"".to_owned(),
        "password: ${DB_PASSWORD}".to_owned(),
        "password = get_password(user.id)".to_owned(),
        "api_key = \"your-api-key-here-1234\"".to_owned(),
        "token = tokens[index + 1].value2".to_owned(),
        "const tokenTypeV2 = \"urn:ietf:params:oauth:token-type:id_token\"".to_owned(),
        "keyVaultSecret: projects/acme-prod1/secrets/db-password/versions/3".to_owned(),
        "postgres://postgres:postgres@localhost:5432/app".to_owned(),
        "https://user:password@host.com/".to_owned(),
        "mysql://root:${PASS}@db.acme.io/".to_owned(),
        "git@github.com:acme/app.git and http://a.io:8080/@x".to_owned(),
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned(),
    ] {
        assert_eq!(find(&text), [], "{text}");
    }
}

#[test]
fn ids_and_paths_are_no_secrets_but_ids_of_a_named_secret_are() {
    let uuid = "3f2b8c1e-9d47-4a6b-b1f0-7c5e2a9d8e31";
    for text in [
        format!("const tenantKey = \"{uuid}\";"),
        format!("{{\"tenantKey\": \"{uuid}\"}}"),
        format!("tenantKey: {uuid}\n"),
        format!("TENANT_KEY = '{}'", uuid.to_uppercase()),
        format!("f(tenant_key='urn:uuid:{uuid}')"),
        format!("tenantKey: {}\n", uuid.replace('-', "")),
        format!("const tenantKey = \"{}\";", uuid.replace('-', "").to_uppercase()),
        format!("UPSTREAM_KEY={}\n", hex(40)),
        format!("  UPSTREAM_KEY: {}\n", hex(40)),
        format!("ENV UPSTREAM_KEY={}\n", hex(40)),
        format!("const upstreamKey = '{}';", hex(40)),
        "private_key = '~/.ssh/id_ed25519'".to_owned(),
        "ssh_secret: ~deploy/.ssh/id_ed25519\n".to_owned(),
        "SSH_PRIVATE_KEY=$HOME/.ssh/id_ed25519\n".to_owned(),
        "SSH_PRIVATE_KEY=~/.ssh/id_ed25519\n".to_owned(),
        "SSH_SECRET=/home/deploy/.ssh/id_ed25519\n".to_owned(),
        "{\"secretKey\": \"~/.ssh/id_rsa4096_prod\"}".to_owned(),
    ] {
        assert_eq!(find(&text), [], "{text}");
    }
    for text in [
        format!("api_key = \"{uuid}\""),
        format!("api_key = \"{}\"", uuid.replace('-', "")),
        format!("upstream_key = '{}'", uuid.replace('-', "").replace("4a6b", "ba6b")),
        format!("client_secret: {}\n", hex(40)),
        format!("upstream_key = '{}'", hex(64)),
        format!("db_password = \"~{}\"", alnum(24)),
        format!("db_password = \"${}/{}\"", drawn(6, "abcXYZ123"), alnum(24)),
    ] {
        assert_eq!(detectors(&text), ["generic-credential"], "{text}");
    }
}

#[test]
fn assigned_credentials_are_found_in_every_notation() {
    let value = alnum(24);
    for text in [
        format!("db_password = \"{value}\""),
        format!("dbPassword: '{value}',"),
        format!("\"clientSecret\": \"{value}\""),
        format!("{{\\\"apiKey\\\": \\\"{value}\\\"}}"),
        format!("SESSION_SECRET={value}\n"),
        format!("  secret_key: {value} # note"),
        format!("$config['auth_token'] => '{value}';"),
        format!("<password>{value}</password>"),
        format!("<add key=\"ApiKey\" value=\"{value}\" />"),
        format!("- name: DB_PASSWORD\n  value: \"{value}\"\n"),
        format!("private static final String API_KEY = \"{value}\";"),
        format!("let token: &str = \"{value}\";"),
        format!("var secret string = \"{value}\""),
        format!("const apiKey: string = `{value}`"),
        format!("setPassword(\"{value}\")"),
        format!("os.getenv(\"API_TOKEN\", \"{value}\")"),
        format!("Server=a;Uid=b;Password={value};"),
        format!("deploy --password {value}"),
        format!("machine a.io login b password {value}"),
        format!("//registry.npmjs.org/:_authToken={value}"),
        format!("api_key = (\n    \"{value}\"\n)"),
        format!("const apiKey =\n  '{value}';"),
        format!("let api_key = /* as agreed */ \"{value}\";"),
        format!("api_key = (  # as agreed\n    # still\n    \"{value}\"\n)"),
        format!("api_key = \\\n    \"{value}\""),
        format!("\"apiKey\" :\n    \"{value}\""),
        format!("let key = String::from(\n    \"{value}\",\n); // password\nlet password = String::from(\n    \"{value}\")").replacen(&value, "a", 1),
        format!("set_password(\n    /* new */ \"{value}\",\n)"),
        format!("db_password: >-\n  {value}\n"),
        format!("db_password: |\n    {value}\n"),
    ] {
        assert_eq!(detectors(&text), ["generic-credential"], "{text}");
        assert_eq!(masked(&text), text.replace(&value, &"*".repeat(24)), "{text}");
    }
}

#[test]
fn a_text_on_the_next_line_hides_no_value_beside_its_name() {
    let value = alnum(24);
    for text in [
        format!("DB_PASSWORD=#{value}\n\"x\"\n"),
        format!("DB_PASSWORD=//{value}\n\"\"\n"),
        format!("password = //{value}\n\"x\" = 1\n"),
        format!("db.password=#{value}\nb'1'\n"),
        format!("<password>#{value}</password>\n\"x\""),
    ] {
        assert!(!masked(&text).contains(&value), "{text}");
    }
}

#[test]
fn what_follows_on_the_next_line_is_no_value_of_a_name() {
    let value = alnum(24);
    for text in [
        format!("secrets:\n  \"{value}\": yes\n"),
        format!("password =\nnote = \"{value}\"\n"),
        format!("password: # as agreed\n  name: \"{value}\"\n"),
        format!("password = None  # \"as agreed\"\nversion(\"{value}\")\n"),
        format!("client_secret =\n{value}"),
        format!("if api_key == (\n    {value})"),
        format!("token:\n  {value}"),
    ] {
        assert_eq!(detectors(&text), [""; 0], "{text}");
    }
}

fn key_body() -> String {
    format!("MIIEvQ{}\n{}\n{}", alnum(58), drawn(64, "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/"), alnum(40))
}

#[test]
fn a_private_key_is_masked_between_its_markers() {
    let body = key_body();
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let text =
            format!("a\n-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\nb\n");
        let stars: String = body.chars().map(|byte| if byte == '\n' { byte } else { '*' }).collect();
        assert_eq!(masked(&text), text.replace(&body, &stars));
    }
    let escaped = format!(
        "{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n\"}}",
        body.replace('\n', "\\n")
    );
    assert_eq!(detectors(&escaped), ["private-key"]);
}

#[test]
fn what_stands_between_the_lines_of_a_key_stays() {
    let body = key_body();
    let lines: Vec<&str> = body.lines().collect();
    for code in
        ["run(user_input)", "it.only('a', () => {", "a_long_name_without_an_end()", "word \u{202e}drow"]
    {
        let text = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n{code}\n{}\n-----END PRIVATE KEY-----\n",
            lines[0], lines[1]
        );
        let shown = masked(&text);
        assert!(shown.contains(code), "{shown}");
        assert!(!shown.contains(lines[0]) && !shown.contains(lines[1]), "{shown}");
    }
}

#[test]
fn a_private_key_cut_off_by_a_hunk_is_found() {
    let text = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\nfn main() {{}}\n", key_body());
    assert_eq!(detectors(&text), ["private-key"]);
    assert!(masked(&text).ends_with("\nfn main() {}\n"));
}

#[test]
fn key_markers_without_a_key_are_left_alone() {
    for text in [
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n".to_owned(),
        "if s.contains(\"-----BEGIN PRIVATE KEY-----\") && s.contains(\"-----END PRIVATE KEY-----\") {"
            .to_owned(),
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", key_body()),
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", key_body()),
    ] {
        assert_eq!(find(&text), [], "{text}");
    }
}

#[test]
fn the_more_specific_of_two_overlapping_hits_stays() {
    let token = alnum(36);
    assert_eq!(detectors(&format!("github_token = \"ghp_{token}\"")), ["github-token"]);
    assert_eq!(detectors(&format!("https://x-access-token:ghp_{token}@github.com/a/b")), ["github-token"]);
    assert_eq!(detectors(&format!("password=\"https://a:{}@b.acme.io\"", alnum(16))), ["credential-url"]);
}

#[test]
fn overlapping_hits_are_masked_together() {
    let (token, other) = (format!("ghp_{}", alnum(36)), format!("glpat-{}", drawn(20, "Zq8Wm3RtK5vXc1Lp")));
    let (before, after) = (drawn(14, "Zq8Wm3RtK5vXc1Lp"), drawn(13, "aB3dE5gH7jK9"));
    let stars = |text: &str| "*".repeat(text.len());
    for value in [
        format!("{before}-{token}"),
        format!("{before}.{token}-{after}"),
        format!("{before}/{token}/{after}/{other}"),
        format!("{before}/{token}/{after}/{other}/{after}"),
    ] {
        for (start, end) in
            [("password = \"", "\"\n"), ("https://user:", "@db.acme.io/x"), ("secret: '", "',")]
        {
            if start.starts_with("https") && value.contains('/') {
                continue;
            }
            let text = format!("{start}{value}{end}");
            let shown = masked(&text);
            assert_eq!(shown, format!("{start}{}{end}", stars(&value)), "{text}");
            assert_eq!(detectors(&text)[0], "github-token", "{text}");
        }
    }
    // A prefix stays where nothing secret precedes it, and what follows the token is masked.
    let text = format!("password = \"{token}-{after}\"");
    assert_eq!(masked(&text), format!("password = \"ghp_{}\"", "*".repeat(36 + 1 + after.len())));
    assert_eq!(masked(&format!("password = \"{token}\"")), format!("password = \"ghp_{}\"", "*".repeat(36)));
}

#[test]
fn what_is_known_to_be_secret_is_masked_with_what_is_found_beside_it() {
    let token = format!("ghp_{}", alnum(36));
    let mut text = format!("{} {token} {}", drawn(20, "aB3dE5gH7jK9"), drawn(20, "Zq8Wm3RtK5vXc1Lp"));
    let known = SecretSpan { start: 0, end: text.len(), detector: "private-key" };
    let spans = find_with(&text, &[known]);
    assert_eq!(spans.iter().map(|span| span.detector).collect::<Vec<_>>(), ["github-token"]);
    mask(&mut text, &spans);
    assert!(text.chars().all(|letter| letter == '*'), "{text}");
}

#[test]
fn every_detector_has_a_compiling_pattern_and_lower_case_keywords() {
    for token in rules::TABLES.iter().copied().flatten().chain(service::SHAPES) {
        let pattern = regex::bytes::RegexBuilder::new(token.pattern).unicode(false).build();
        assert!(pattern.is_ok(), "{}", token.detector.id);
        assert!(token.keywords.iter().all(|word| *word == word.to_lowercase()), "{}", token.detector.id);
        assert_eq!(detector(token.detector.id).map(|found| found.kind), Some(token.detector.kind));
    }
}

#[test]
fn entropy_is_the_same_on_every_machine() {
    assert_eq!(plausible::entropy(b""), 0);
    assert_eq!(plausible::entropy(b"aaaa"), 0);
    assert_eq!(plausible::entropy(b"abab"), 1000);
    assert_eq!(plausible::entropy(b"abcdefgh"), 3000);
    assert_eq!(plausible::entropy(b"aab"), 918);
}

#[test]
fn a_long_line_of_keywords_costs_linear_time() {
    let text = "password=\"://-----BEGIN eyJ sk- token: AKIA".repeat(20_000);
    find(&text);
}

proptest! {
    #[test]
    fn spans_are_sorted_disjoint_and_on_character_boundaries(
        parts in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                "(password|token|api_key|secret)( = |: |=)[\"']?[A-Za-z0-9é!$]{0,40}[\"']?",
                "(ghp_|AKIA|sk-|eyJ|xoxb-|://|curl -u |Bearer |-us1|:AA)[A-Za-z0-9.:@_-]{0,60}",
                "-----BEGIN (RSA )?PRIVATE KEY-----[A-Za-z0-9+/\n]{0,200}(-----END)?",
            ],
            0..8,
        )
    ) {
        let text = parts.concat();
        let spans = find(&text);
        for span in &spans {
            prop_assert!(span.start < span.end);
            prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            prop_assert!(detector(span.detector).is_some());
        }
        prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let mut masked = text.clone();
        mask(&mut masked, &spans);
        prop_assert_eq!(masked.len(), text.len());
        let candidates = scan::candidates(&text);
        let is_public = |at: usize| candidates.iter().any(|one| one.whole.contains(&at) && !one.span.contains(&at));
        for at in candidates.iter().flat_map(|one| one.span.clone()) {
            prop_assert!(matches!(masked.as_bytes()[at], b'*' | b'\n' | b'\r') || is_public(at), "{at} of {text:?}: {masked:?}");
        }
        let newlines = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
        prop_assert_eq!(newlines(&masked), newlines(&text));
    }
}
