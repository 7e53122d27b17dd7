//! Every lockfile format in several spellings.

use super::*;

/// Renders each package as a line: name, version, source, checksums with their files.
fn rendered(format: LockFormat, text: &str) -> Vec<String> {
    let packages = locked_packages(format, text).unwrap_or_else(|error| panic!("{error}: {text}"));
    packages.iter().map(|package| line(package, text)).collect()
}

fn line(package: &LockedPackage, text: &str) -> String {
    assert!(text.get(package.span.start..package.span.end).is_some());
    let mut words = vec![package.name.text.clone()];
    words.extend(package.version.iter().map(|version| version.text.clone()));
    words.extend(package.source.iter().map(|source| format!("<{}>", source.text)));
    for Checksum { sum, file } in &package.checksums {
        assert!(text.get(sum.span.start..sum.span.end).is_some(), "{sum:?}");
        let file = file.as_ref().map(|file| format!("={}", file.text)).unwrap_or_default();
        words.push(format!("[{}{file}]", sum.text));
    }
    words.join(" ")
}

#[track_caller]
fn check(format: LockFormat, texts: &[&str], expected: &[&str]) {
    for text in texts {
        assert_eq!(rendered(format, text), expected, "{text}");
    }
}

#[test]
fn npm_of_every_version() {
    check(
        LockFormat::Npm,
        &[
            r#"{"lockfileVersion": 3, "packages": {"": {"name": "x"}, "node_modules/a": {"version": "1.0.0", "resolved": "https://r/a.tgz", "integrity": "sha512-x"}}}"#,
            "{\n  \"packages\": {\n    \"node_modules\\/a\": {\n\t\"integrity\": \"sha512-x\",\n\"resolved\":\"https:\\u002f/r/a.tgz\",\n\n\"version\":\"1.0.0\" } } }",
            r#"{"lockfileVersion": 1, "dependencies": {"a": {"version": "2", "version": "1.0.0", "resolved": "https://r/a.tgz", "integrity": "sha512-x"}}}"#,
            r#"{"lockfileVersion": 2, "packages": {"node_modules/a": {"version": "1.0.0", "resolved": "https://r/a.tgz", "integrity": "sha512-x"}}, "dependencies": {"a": {"version": "1.0.0", "resolved": "https://r/a.tgz", "integrity": "sha512-x"}}}"#,
        ],
        &["a 1.0.0 <https://r/a.tgz> [sha512-x]"],
    );
    check(
        LockFormat::Npm,
        &[
            r#"{"packages": {"node_modules/a/node_modules/@s/b": {"version": "1", "integrity": "sha1-a sha512-b"}, "node_modules/c": {"resolved": "d", "link": true}}, "dependencies": {"@s/b": {"version": "1", "integrity": "sha1-other"}}}"#,
        ],
        &["@s/b 1 [sha1-a] [sha512-b]", "c <d>", "@s/b 1 [sha1-other]"],
    );
}

#[test]
fn pnpm_of_every_version() {
    let package = "resolution: {integrity: sha512-x}";
    for (version, keys) in [
        ("5.4", vec!["/@s/a/1.0.0", "/@s/a/1.0.0_react@18.0.0", "/@s/a/1.0.0_@types+b@1"]),
        ("'6.0'", vec!["/@s/a@1.0.0", "/@s/a@1.0.0(react@18.0.0)"]),
        ("'9.0'", vec!["'@s/a@1.0.0'", "\"@s/a@1.0.0\""]),
    ] {
        for key in keys {
            let text = format!("lockfileVersion: {version}\n\npackages:\n\n  {key}:\n    {package}\n");
            let quoted = text
                .replace(&format!("  {key}"), &format!("  ? {key}"))
                .replace(":\n    resolution", "\n  : resolution");
            check(LockFormat::Pnpm, &[&text, &quoted], &["@s/a 1.0.0 [sha512-x]"]);
        }
    }
    check(
        LockFormat::Pnpm,
        &[
            "lockfileVersion: '9.0'\npackages:\n  a@https://c/x: {resolution: {tarball: https://c/x}, version: 1.0.0}\n  b@1: {resolution: {type: git, repo: u, commit: c}}\n",
        ],
        &["a 1.0.0 <https://c/x>", "b 1 <u#c>"],
    );
}

#[test]
fn yarn_of_every_version() {
    check(
        LockFormat::Yarn,
        &[
            "# yarn lockfile v1\n\n\n\"@s/a@^1.0.0\", \"@s/a@~1\":\n  version \"1.0.0\"\n  resolved \"https://r/a.tgz#0123456789012345678901234567890123456789\"\n  integrity sha512-x\n  dependencies:\n    version \"2\"\n",
        ],
        &[
            "@s/a 1.0.0 <https://r/a.tgz#0123456789012345678901234567890123456789> [0123456789012345678901234567890123456789] [sha512-x]",
        ],
    );
    check(
        LockFormat::Yarn,
        &[
            "__metadata:\n  version: 8\n\n\"@s/a@npm:^1\":\n  version: 1.0.0\n  resolution: \"@s/a@npm:1.0.0\"\n  checksum: 10c0/x\n  languageName: node\n",
            "__metadata: {version: 8}\n'@s/a@npm:^1': {checksum: 10c0/x, resolution: '@s/a@npm:1.0.0', version: \"1.0.0\"}\n",
        ],
        &["@s/a 1.0.0 <npm:1.0.0> [10c0/x]"],
    );
    check(LockFormat::Yarn, &["# yarn lockfile v1\n"], &[]);
}

#[test]
fn bun_and_deno() {
    check(
        LockFormat::Bun,
        &[
            r#"{"lockfileVersion": 1, "packages": {"a": ["@s/a@1.0.0", "", {}, "sha512-x"], "b": ["b@git+ssh://h/b#c", {}, "c"], }, }"#,
        ],
        &["@s/a 1.0.0 [sha512-x]", "b git+ssh://h/b#c <git+ssh://h/b#c> [c]"],
    );
    check(
        LockFormat::Deno,
        &[
            r#"{"version": "4", "jsr": {"@s/a@1.0.0": {"integrity": "x"}}, "remote": {"https://d/m.ts": "y"}}"#,
            r#"{"version": "3", "packages": {"jsr": {"@s/a@1.0.0": {"integrity": "x"}}}, "remote": {"https://d/m.ts": "y"}}"#,
        ],
        &["@s/a 1.0.0 [x]", "https://d/m.ts <https://d/m.ts> [y]"],
    );
}

#[test]
fn cargo_in_any_spelling_of_toml() {
    check(
        LockFormat::Cargo,
        &[
            "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+u\"\nchecksum = \"x\"\n",
            "package = [{ checksum = 'x', name = 'a', version = \"1.0.\\u0030\", source = \"\"\"registry+u\"\"\" }]\n",
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+u\"\n[metadata]\n\"checksum a 1.0.0 (registry+u)\" = \"x\"\n",
        ],
        &["a 1.0.0 <registry+u> [x]"],
    );
    check(LockFormat::Cargo, &["version = 4\n"], &[]);
}

#[test]
fn python_lockfiles() {
    check(
        LockFormat::Python,
        &[
            "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = [\n  {file = \"a.whl\", hash = \"sha256:x\"},\n]\n",
            "[[package]]\nname = \"a\"\nversion = \"1\"\n[[package.files]]\nhash = \"sha256:x\"\nfile = \"a.whl\"\n",
            "[[package]]\nname = \"a\"\nversion = \"1\"\n[metadata.files]\na = [{hash = \"sha256:x\", file = \"a.whl\"}]\n",
            "[[package]]\nname = \"a\"\nversion = \"1\"\n[metadata.files]\n\"a 1\" = [{hash = \"sha256:x\", file = \"a.whl\"}]\n",
        ],
        &["a 1 [sha256:x=a.whl]"],
    );
    check(
        LockFormat::Python,
        &[
            "version = 1\n[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"https://i\" }\nsdist = { url = \"https://f/a.tar.gz\", hash = \"sha256:x\" }\nwheels = [{ url = \"https://f/a.whl\", hash = \"sha256:y\" }]\n[[package]]\nname = \"b\"\n[package.source]\ntype = \"git\"\nurl = \"https://g\"\nresolved_reference = \"c\"\n",
        ],
        &["a 1 <https://i> [sha256:y=https://f/a.whl] [sha256:x=https://f/a.tar.gz]", "b <https://g#c>"],
    );
    check(
        LockFormat::Python,
        &[
            "lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nwheels = [{url = \"https://f/a.whl\", hashes = {sha256 = \"x\"}}]\n",
        ],
        &["a <https://f/a.whl> [sha256:x=https://f/a.whl]"],
    );
    check(
        LockFormat::Pipfile,
        &[
            r#"{"_meta": {}, "default": {"a": {"version": "==1", "hashes": ["sha256:x"], "index": "pypi"}}, "develop": {"b": {"git": "u", "ref": "c"}}}"#,
        ],
        &["a 1 <pypi> [sha256:x]", "b <u#c>"],
    );
}

#[test]
fn go_sum_with_any_blanks() {
    check(
        LockFormat::GoSum,
        &[
            "e.org/a v1.0.0 h1:x=\ne.org/a v1.0.0/go.mod h1:y=\n",
            "\te.org/a\tv1.0.0  h1:x=\r\n\ne.org/a v1.0.0/go.mod\th1:y=",
        ],
        &["e.org/a v1.0.0 [h1:x=]", "e.org/a v1.0.0/go.mod [h1:y=]"],
    );
    check(LockFormat::GoSum, &[""], &[]);
}

#[test]
fn lockfiles_of_other_languages() {
    check(
        LockFormat::Gemfile,
        &[
            "GIT\n  remote: https://g\n  revision: c\n  specs:\n    b (2)\n      a (~> 1)\n\nGEM\n  remote: https://rubygems.org/\n  specs:\n    a (1.0.0)\n\nPLATFORMS\n  ruby\n\nCHECKSUMS\n  a (1.0.0) sha256=x,sha512=y\n",
        ],
        &["b 2 <https://g#c>", "a 1.0.0 <https://rubygems.org/> [sha256=x] [sha512=y]"],
    );
    check(
        LockFormat::Composer,
        &[
            r#"{"packages": [{"name": "v/a", "version": "1", "dist": {"url": "https://z", "reference": "c", "shasum": ""}, "source": {"url": "g"}}], "packages-dev": []}"#,
        ],
        &["v/a 1 <https://z#c> [c]"],
    );
    check(
        LockFormat::NuGet,
        &[
            r#"{"version": 1, "dependencies": {"net8.0": {"A": {"type": "Direct", "resolved": "1.0.0", "contentHash": "x"}}}}"#,
        ],
        &["A 1.0.0 [x]"],
    );
    check(LockFormat::Gradle, &["# c\nempty=a\ng:n:1.0=compile\n"], &["g:n 1.0"]);
    check(
        LockFormat::Pub,
        &[
            "packages:\n  a:\n    dependency: direct\n    description:\n      name: a\n      sha256: x\n      url: \"https://pub.dev\"\n    version: \"1.0.0\"\n",
        ],
        &["a 1.0.0 <https://pub.dev> [x]"],
    );
    check(
        LockFormat::Mix,
        &[
            "%{\n  \"a\": {:hex, :a, \"1.0.0\", \"x\", [:mix], [{:b, \"~> 1\", [hex: :b]}], \"hexpm\", \"y\"},\n  \"g\": {:git, \"https://g\", \"c\", []},\n}\n",
            "%{\"a\" => {:hex,:a,\"1.0.0\",\"x\",[:mix],[],\"hexpm\",\"y\"}, # z\n \"g\": {:git, \"https://g\", \"c\", [tag: \"v\"]}}",
        ],
        &["a 1.0.0 <hexpm> [x] [y]", "g c <https://g#c> [c]"],
    );
    check(
        LockFormat::Podfile,
        &[
            "PODS:\n  - A (1.0):\n    - B\n  - A/Core (1.0)\n  - B (2.0)\nEXTERNAL SOURCES:\n  B:\n    :git: https://g\nCHECKOUT OPTIONS:\n  B:\n    :commit: c\nSPEC CHECKSUMS:\n  A: x\n",
        ],
        &["A 1.0 [x]", "A/Core 1.0 [x]", "B 2.0 <https://g#c>"],
    );
    check(
        LockFormat::Swift,
        &[
            r#"{"version": 2, "pins": [{"identity": "a", "location": "https://g", "state": {"revision": "c", "version": "1.0.0"}}]}"#,
            r#"{"version": 1, "object": {"pins": [{"package": "a", "repositoryURL": "https://g", "state": {"branch": null, "revision": "c", "version": "1.0.0"}}]}}"#,
        ],
        &["a 1.0.0 <https://g> [c]"],
    );
    check(
        LockFormat::Flake,
        &[
            r#"{"nodes": {"n": {"locked": {"narHash": "x", "owner": "o", "repo": "r", "rev": "c", "type": "github"}}, "root": {"inputs": {}}}}"#,
        ],
        &["n c <github/o/r> [x]"],
    );
}

#[test]
fn what_is_no_lockfile_is_an_error() {
    use LockFormat::*;
    for format in [
        Bun, Cargo, Composer, Deno, Flake, Gemfile, Gradle, Mix, Npm, NuGet, Pipfile, Pnpm, Podfile, Pub,
        Python, Swift, Yarn,
    ] {
        for text in ["{", "[]", "x", "a: [1, 2]\nb", "{\"packages\": 1}", "{\"packages\": {\"a\": 1}}"] {
            assert!(locked_packages(format, text).is_err(), "{format:?} {text}");
        }
        assert_eq!(locked_packages(format, "").is_ok(), format == Gradle, "{format:?}");
    }
    for (format, text, at) in [
        (GoSum, "a v1 h1:x\nb v1\n", 10),
        (Yarn, "a@1:\n  version \"1\"\nb\n", 19),
        (Gemfile, "GEM\n  specs:\n<<<<<<< HEAD\n", 13),
        (Cargo, "[[package]]\nversion = \"1\"\n", 0),
    ] {
        let error = locked_packages(format, text).unwrap_err();
        assert!(matches!(error, ReadError::Syntax { at: place, .. } if place == at), "{error:?} {text}");
    }
}
