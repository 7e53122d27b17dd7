//! Class, scope and language of made-up paths.

use super::*;

#[test]
fn names_alone_say_class_scope_and_language() {
    let cases = [
        ("src/main.rs", "source", "product", Some("rust")),
        ("src/lib/tests.rs", "test", "test", Some("rust")),
        ("tests/it/main.rs", "test", "test", Some("rust")),
        ("src/__tests_dts__/a.ts", "test", "test", Some("typescript")),
        ("pkg/cmd/root_test.go", "test", "test", Some("go")),
        ("app/Button.test.tsx", "test", "test", Some("typescript")),
        ("src/test/java/a/FooTest.java", "test", "test", Some("java")),
        ("README.md", "docs", "docs", None),
        ("docs/conf.py", "source", "docs", Some("python")),
        ("requirements.txt", "config", "product", None),
        (".github/workflows/ci.yml", "infra", "product", None),
        ("Dockerfile", "infra", "product", None),
        ("Cargo.toml", "config", "product", None),
        ("Cargo.lock", "config", "generated", None),
        ("vendor/github.com/x/y.go", "source", "vendored", Some("go")),
        (".yarn/releases/yarn-4.1.0.cjs", "source", "vendored", Some("javascript")),
        ("api/v1/api.pb.go", "source", "generated", Some("go")),
        ("logo.png", "asset", "product", None),
        ("tests/data/logo.png", "asset", "test", None),
        (".env.local", "config", "product", None),
        ("LICENSE", "docs", "docs", None),
        ("bin/run", "unknown", "product", None),
        // A word makes a test, its last letters do not.
        ("src/Latest.java", "source", "product", Some("java")),
        ("src/Contest.java", "source", "product", Some("java")),
        ("src/Attest.cs", "source", "product", Some("c#")),
        ("src/LatestTest.java", "test", "test", Some("java")),
        ("src/HTTPServerTests.kt", "test", "test", Some("kotlin")),
        // Files that a platform runs are no tests, whatever their name.
        (".github/workflows/ci-test.yml", "infra", "product", None),
        (".github/workflows/stress-test.yml", "infra", "product", None),
        (".github/actions/test/action.yml", "infra", "product", None),
        (".github/workflows/README.md", "docs", "docs", None),
        (".husky/pre-commit", "infra", "product", None),
    ];
    let globs = ScopeGlobs::new(|_| &[]).unwrap();
    for (name, expected_class, expected_scope, expected_language) in cases {
        let path = RepoPath::from_bytes(name.as_bytes()).unwrap();
        let found = class(&path);
        assert_eq!(
            (found.as_str(), globs.scope(&path, found).as_str(), language(&path)),
            (expected_class, expected_scope, expected_language),
            "{name}"
        );
    }
}

#[test]
fn two_stars_match_every_path_there_can_be() {
    // The second is compiled, and shows that the first may do without.
    let sets = [["**"].as_slice(), &["**", "a"]].map(|globs| PathSet::new(globs.iter().copied()).unwrap());
    let names: &[&[u8]] = &[
        b"a",
        b"a/b",
        b".hidden",
        b"a\nb",
        b"\xff\xfe",
        b"-",
        b"a b/c\td",
        "\u{202e}".as_bytes(),
        b"[x]",
        b"{a,b}",
    ];
    for name in names {
        let path = RepoPath::from_bytes(name).unwrap();
        assert!(sets.iter().all(|set| set.matches(&path)), "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn the_policy_can_claim_paths_for_a_scope() {
    let mine = vec!["qa/**".to_owned()];
    let globs = ScopeGlobs::new(|scope| if scope == Scope::Test { &mine } else { &[] }).unwrap();
    let path = RepoPath::from_bytes(b"qa/deep/check.rs").unwrap();
    assert_eq!(globs.scope(&path, class(&path)), Scope::Test);
    assert!(PathSet::new(["a["]).is_err());
    assert!(PathSet::new(["/abs"]).is_err());
}
