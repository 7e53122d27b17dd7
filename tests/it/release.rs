//! The steps of `scripts/release.sh`, on a copy of the files that a release changes and with a remote of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, temp};

/// A value that may stand on no command line.
const TOKEN: &str = "canary-registry-token-4711";

/// The systems that a release has an archive for.
const TARGETS: [&str; 6] = [
    "aarch64-apple-darwin",
    "aarch64-pc-windows-msvc",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-musl",
];

/// A digest of one repeated character.
fn digest(character: char) -> String {
    format!("sha256:{}", character.to_string().repeat(64))
}

/// A checkout of version 1.2.3, whose remote has release 1.2.2.
struct Checkout {
    home: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let checkout = Self { home: temp() };
        std::fs::create_dir_all(checkout.path("scripts")).unwrap();
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::create_dir_all(checkout.path("packaging")).unwrap();
        for script in ["packaging/packages.py", "scripts/release.sh"] {
            std::fs::copy(ours.join(script), checkout.path(script)).unwrap();
        }
        // As on main, also where these tests run at the tag of a release.
        let dockerfile = std::fs::read_to_string(ours.join("Dockerfile")).unwrap();
        let unpinned =
            regex::Regex::new("@sha256:[0-9a-f]{64}").unwrap().replace_all(&dockerfile, "").into_owned();
        checkout.write("Dockerfile", &unpinned);
        let action = std::fs::read_to_string(ours.join("action.yml")).unwrap();
        let unnamed = regex::Regex::new("image: docker://.*").unwrap().replace(&action, "image: Dockerfile");
        checkout.write("action.yml", &unnamed);
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            checkout.write(file, "text\n");
        }
        checkout
            .write("docs/reference/command-line.md", "# Page\n\n```text\n-h \\ x\n```\n\n## qa-skill run\n");
        checkout.write("setup/setup.sh", "");
        checkout.write("Cargo.toml", "[package]\nversion = \"1.2.3\"\n");
        checkout.write(
            "CHANGELOG.md",
            "## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n\n- New.\n\n## [1.2.2]\n\n- Old.\n",
        );
        checkout.bash(
            "git init --quiet --bare ../origin && git init --quiet --initial-branch main . && git add --all \
             && git -c user.name=a -c user.email=a@example.com commit --quiet --message base \
             && git remote add origin ../origin && git push --quiet origin main HEAD:refs/tags/v1.2.2 HEAD:refs/tags/v1",
        );
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("checkout").join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes the checksums of a release: one of every archive, and one of another file.
    fn write_checksums(&self) {
        let archives = TARGETS.map(|target| format!("{}  qa-skill-{target}.tar.gz\n", "5".repeat(64)));
        self.write("built/SHA256SUMS", &format!("{}  sbom.json\n{}", "6".repeat(64), archives.concat()));
    }

    /// `bash` with arguments, and with the programs of [`Self::stand_in`] before those of the machine.
    fn command(&self, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        command
            .args(arguments)
            .current_dir(self.path("."))
            .env_clear()
            .env("PATH", format!("{}:{path}", self.home.path().join("bin").display()))
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z")))
            .envs([("GITHUB_REF", "refs/heads/main"), ("GITHUB_REPOSITORY", "Owner/qa-skill")])
            .env("GITHUB_SERVER_URL", "https://github.example")
            .envs([("GITHUB_ACTOR", "somebody"), ("GITHUB_SHA", "0123"), ("TOKEN", TOKEN)])
            .env("GITHUB_OUTPUT", self.path("../output"));
        command
    }

    /// Runs a script that succeeds, and returns what it prints.
    #[track_caller]
    fn bash(&self, script: &str) -> String {
        let output = self.command(&["-ec", script]).output().unwrap();
        Outcome::from_output(&output).expect(0).text().trim().to_owned()
    }

    /// Runs a step that succeeds, and returns what it prints.
    #[track_caller]
    fn step(&self, words: &[&str]) -> String {
        let output = self.command(&[&["scripts/release.sh"], words].concat()).output().unwrap();
        Outcome::from_output(&output).expect(0).text().trim().to_owned()
    }

    /// Runs a step that is refused for a reason.
    #[track_caller]
    fn refuses(&self, words: &[&str], reason: &str) {
        let output = self.command(&[&["scripts/release.sh"], words].concat()).output().unwrap();
        let outcome = Outcome::from_output(&output).expect(1);
        assert!(outcome.stderr.contains(reason), "{words:?}: {}", outcome.stderr);
    }

    /// The images that the Dockerfile is built from, by their tags: the compiler's and node's.
    fn bases(&self) -> [String; 2] {
        let dockerfile = self.read("Dockerfile");
        let named = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM docker.io/"));
        let names: Vec<String> =
            named.map(|rest| format!("docker.io/{}", rest.split(['@', ' ']).next().unwrap())).collect();
        names.try_into().unwrap()
    }

    fn pin(&self) {
        let [rust, node] = self.bases();
        self.step(&["pin", &format!("{rust}@{}", digest('a')), &format!("{node}@{}", digest('b'))]);
    }

    /// Puts a program before those of the machine. Another process writes it: a test that starts a program meanwhile would
    /// hold it open, and what is open for writing cannot be run.
    fn stand_in(&self, name: &str, script: &str) {
        self.write("../script", &format!("#!/bin/sh\n{script}\n"));
        self.bash(&format!("install -D -m 0755 ../script ../bin/{name}"));
    }
}

#[test]
fn pinning_adds_the_registrys_digests_to_the_dockerfile_and_changes_nothing_else() {
    let checkout = Checkout::new();
    let before = checkout.read("Dockerfile");
    let [rust, node] = checkout.bases();
    checkout.stand_in(
        "docker",
        &format!(
            "case \"$*\" in *rust*) echo '\"{}\"' ;; *) echo '\"{}\"' ;; esac",
            digest('a'),
            digest('b')
        ),
    );
    checkout.bash("bash scripts/release.sh digests | xargs bash scripts/release.sh pin");
    let expected = before
        .replace(&format!("FROM {rust} "), &format!("FROM {rust}@{} ", digest('a')))
        .replace(&format!("FROM {node} "), &format!("FROM {node}@{} ", digest('b')));
    assert_eq!(checkout.read("Dockerfile"), expected);
    assert_eq!(checkout.step(&["digests"]), "", "nothing is left to look up");
}

#[test]
fn malformed_digest_is_refused() {
    let checkout = Checkout::new();
    let [rust, _] = checkout.bases();
    let whole = digest('a');
    for bad in
        ["", "sha256:", "latest", &whole[..70], &format!("{whole}a"), &whole.to_uppercase(), "sha512:aa"]
    {
        checkout.refuses(&["pin", &format!("{rust}@{bad}")], "is not an image with a digest");
        checkout.refuses(&["tag", "1.2.3", bad], "is not a digest");
        checkout.refuses(&["pull", "1.2.3", bad], "is not a digest");
        checkout.stand_in("docker", &format!("echo '\"{bad}\"'"));
        checkout.refuses(&["digests"], &format!("the registry gives no digest for {rust}"));
    }
    checkout.stand_in("docker", "exit 1");
    checkout.refuses(&["digests"], &format!("the registry gives no digest for {rust}"));
}

#[test]
fn image_without_a_digest_is_refused() {
    let checkout = Checkout::new();
    let [rust, node] = checkout.bases();
    checkout.refuses(&["pin", &format!("{rust}@{}", digest('a'))], &format!("names {node} without a digest"));
    checkout.refuses(&["tag", "1.2.3", &digest('c')], &format!("names {rust} without a digest"));
    checkout.refuses(
        &["pin", &format!("docker.io/library/gone:1@{}", digest('a'))],
        "no FROM of the Dockerfile names",
    );

    checkout.pin();
    let pinned = checkout.read("Dockerfile");
    for (added, reason) in [
        ("FROM debian:12\n", "names debian:12 "),
        ("from debian:12 as more\n", "names debian:12 "),
        ("FROM $BASE\n", "names $BASE "),
        ("FROM --platform=linux/amd64 debian:12\n", "names --platform=linux/amd64 "),
        ("COPY --from=debian:12 /bin/sh /sh\n", "names debian:12 "),
        ("RUN --mount=type=bind,from=debian:12,target=/x true\n", "names debian:12 "),
        ("# syntax=docker/dockerfile:1\n", "names # syntax=docker/dockerfile:1 "),
    ] {
        checkout.write("Dockerfile", &format!("{pinned}{added}"));
        checkout.refuses(&["pin"], reason);
    }
    checkout.write("Dockerfile", "# nothing\n");
    checkout.refuses(&["pin"], "the Dockerfile names no image");
}

#[test]
fn version_tag_names_the_image_and_does_not_move() {
    let checkout = Checkout::new();
    checkout.pin();
    checkout.refuses(&["tag", "1.2.3", &digest('c')], "there is no built/SHA256SUMS");
    checkout.write_checksums();
    checkout.bash("sed -i.whole /apple/d built/SHA256SUMS");
    checkout.refuses(&["tag", "1.2.3", &digest('c')], "no digest of qa-skill-aarch64-apple-darwin.tar.gz");
    checkout.bash("mv built/SHA256SUMS.whole built/SHA256SUMS");
    assert_eq!(
        checkout.bash("git -C ../origin tag --list v1.2.3"),
        "",
        "nothing is tagged by a step that is refused"
    );
    let commit = checkout.step(&["tag", "1.2.3", &digest('c')]);
    assert_eq!(checkout.bash("git -C ../origin rev-parse v1.2.3"), commit);
    assert_eq!(checkout.bash(&format!("git rev-parse {commit}~1")), checkout.bash("git rev-parse HEAD"));
    assert_eq!(
        checkout.bash(&format!("git diff --name-only HEAD {commit}")),
        "Dockerfile\naction.yml\nsetup/release.txt"
    );
    let archives = TARGETS.map(|target| format!("\n{}  qa-skill-{target}.tar.gz", "5".repeat(64)));
    let address = "https://github.example/Owner/qa-skill/releases/download/v1.2.3";
    assert_eq!(
        checkout.bash(&format!("git show {commit}:setup/release.txt")),
        format!("{address}{}", archives.concat())
    );
    let changed = checkout.bash(&format!("git diff --unified=0 HEAD {commit} action.yml | tail -n 2"));
    let image = format!("docker://ghcr.io/owner/qa-skill@{}", digest('c'));
    assert_eq!(changed, format!("-  image: Dockerfile\n+  image: {image}"));

    // Another run of the same job begins with a new checkout.
    let again = || {
        checkout.bash("git checkout --quiet Dockerfile action.yml");
        checkout.pin();
    };
    again();
    assert_eq!(checkout.step(&["tag", "1.2.3", &digest('c')]), commit);
    again();
    checkout.refuses(&["tag", "1.2.3", &digest('d')], "and is not moved");
    assert_eq!(checkout.bash("git -C ../origin rev-parse v1.2.3"), commit);

    checkout.step(&["move", "1.2.3", &commit]);
    assert_eq!(checkout.bash("git -C ../origin rev-parse v1"), commit);
    checkout.bash("git push --quiet origin HEAD:refs/tags/v1.2.4");
    checkout.refuses(&["move", "1.2.3", &commit], "v1.2.4 is released and newer than v1.2.3");
}

#[test]
fn only_a_newer_version_of_main_is_released() {
    let checkout = Checkout::new();
    checkout.step(&["check", "1.2.3"]);
    checkout.refuses(&["check", "v1.2.3"], "is not a version");
    checkout.refuses(&["check", "1.2.4"], "Cargo.toml has another version");
    let mut elsewhere = checkout.command(&["scripts/release.sh", "check", "1.2.3"]);
    let output = elsewhere.env("GITHUB_REF", "refs/heads/topic").output().unwrap();
    assert!(
        Outcome::from_output(&output)
            .expect(1)
            .stderr
            .contains("releases are made on main, not on refs/heads/topic")
    );
    checkout.bash("git push --quiet origin HEAD:refs/tags/v1.10.0");
    checkout.refuses(&["check", "1.2.3"], "v1.10.0 is released and newer than v1.2.3");
    checkout.bash("git push --quiet origin HEAD:refs/tags/v1.2.3");
    checkout.refuses(&["check", "1.2.3"], "v1.2.3 exists already");
    checkout.write("CHANGELOG.md", "## [1.2.30]\n\n- Other.\n");
    checkout.refuses(&["check", "1.2.3"], "CHANGELOG.md has no section [1.2.3]");
}

#[test]
fn image_that_cannot_be_pulled_without_credentials_is_refused() {
    let checkout = Checkout::new();
    checkout.stand_in("docker", "exit 1");
    checkout.refuses(&["pull", "1.2.3", &digest('c')], "set it to public");
    checkout.stand_in("docker", "[ \"$1\" = pull ] || echo 'qa-skill 1.2.2 (sources 0a)'");
    checkout.refuses(&["pull", "1.2.3", &digest('c')], "says that it is qa-skill 1.2.2 (sources 0a)");
    checkout.stand_in(
        "docker",
        "[ -z \"$(ls -A \"$DOCKER_CONFIG\")\" ] && { [ \"$1\" = pull ] || echo 'qa-skill 1.2.3 (sources 0a)'; }",
    );
    checkout.step(&["pull", "1.2.3", &digest('c')]);
}

/// Prints digests of images by architecture and kind, those of joined ones with a tag alone, and keeps a log.
const DOCKER: &str = r#"
echo "$*" >> ../docker.log
case "$*" in
    login*) cat > ../password ;;
    create*) echo container ;;
    cp*) echo "binary for $(uname -m)" > "$3" ;;
    *dpkg-query*) echo "packages for $(uname -m)" ;;
    *imagetools\ inspect*) case "$*" in
        *-full-x86_64) digit=b ;;
        *-x86_64) digit=a ;;
        *-full-aarch64) digit=d ;;
        *-aarch64) digit=c ;;
        *-full) digit=f ;;
        *) digit=e ;;
        esac
        printf '"sha256:%s"\n' "$(printf "%064d" 0 | tr 0 "$digit")" ;;
esac
"#;

/// A checkout whose images of both architectures are built.
fn built() -> Checkout {
    let checkout = Checkout::new();
    checkout.pin();
    checkout.stand_in("docker", DOCKER);
    checkout.stand_in("skopeo", "echo \"$*\" >> ../skopeo.log");
    checkout.write("scripts/install-tools.sh", "#!/bin/sh\n");
    checkout.bash("chmod +x scripts/install-tools.sh");
    for script in ["demo", "container-full"] {
        checkout
            .write(&format!("scripts/{script}.sh"), "#!/bin/sh\necho \"$0 $QA_SKILL $IMAGE\" >> ../tried\n");
        checkout.bash(&format!("chmod +x scripts/{script}.sh"));
    }
    for architecture in ["x86_64", "aarch64"] {
        checkout.stand_in("uname", &format!("echo {architecture}"));
        checkout.step(&["build", "1.2.3"]);
    }
    checkout
}

/// Puts a program of every system where `package` takes it from, lays out its archive, and loses modes as artifacts do.
fn packaged() -> Checkout {
    let checkout = built();
    checkout.write("program", "#!/bin/sh\n[ \"$1\" = completions ] && echo \"completions for $2\"\n");
    checkout.bash("install -m 0755 program ../program");
    for target in TARGETS {
        checkout.step(&["package", target, "../program"]);
    }
    checkout.bash("chmod -R a-x+X built/archive-* && chmod a-x built/archive-*/*/qa-skill*");
    checkout
}

/// Arguments of the logged calls of a program that begin with a word.
fn logged(checkout: &Checkout, program: &str, word: &str) -> Vec<String> {
    let log = checkout.read(&format!("../{program}.log"));
    log.lines().filter(|line| line.starts_with(word)).map(str::to_owned).collect()
}

#[test]
fn images_of_an_architecture_are_tried_before_they_are_pushed() {
    let checkout = built();
    let image = "ghcr.io/owner/qa-skill:v1.2.3";
    let expected = ["x86_64", "aarch64"]
        .map(|architecture| ["", "-full"].map(|kind| format!("{image}{kind}-{architecture}")))
        .concat();
    let compressed = "copy --quiet --dest-compress-format gzip --dest-compress-level 9";
    let expected =
        expected.iter().map(|image| format!("{compressed} docker-daemon:{image} docker://{image}"));
    assert_eq!(logged(&checkout, "skopeo", "copy"), expected.collect::<Vec<_>>());
    let tried = checkout.read("../tried");
    for architecture in ["x86_64", "aarch64"] {
        let binary = format!("built/qa-skill-{architecture}-unknown-linux-musl");
        assert_eq!(checkout.read(&binary), format!("binary for {architecture}\n"));
        let packages = format!("built/full-image-packages-{architecture}.txt");
        assert_eq!(checkout.read(&packages), format!("packages for {architecture}\n"));
        assert!(tried.contains(&binary) && tried.contains(&format!("-full-{architecture}")), "{tried}");
    }
    let names = ["-x86_64", "-full-x86_64", "-aarch64", "-full-aarch64"];
    let digests = names.map(|name| checkout.read(&format!("built/digest{name}")).trim().to_owned());
    assert_eq!(digests, ['a', 'b', 'c', 'd'].map(digest));
    assert_eq!(checkout.read("../password").trim(), TOKEN);
    assert!(!checkout.read("../docker.log").contains(TOKEN));

    for script in ["demo", "container-full"] {
        let checkout = built();
        checkout.bash("> ../skopeo.log");
        checkout.write(&format!("scripts/{script}.sh"), "#!/bin/sh\necho it does not work >&2\nexit 1\n");
        checkout.refuses(&["build", "1.2.3"], "it does not work");
        assert_eq!(checkout.read("../skopeo.log"), "");
    }
    let unpinned = Checkout::new();
    unpinned.refuses(&["build", "1.2.3"], "without a digest");
}

#[test]
fn images_of_both_architectures_are_joined_and_every_file_has_a_checksum() {
    let checkout = packaged();
    checkout.step(&["join", "1.2.3"]);
    let image = "ghcr.io/owner/qa-skill";
    let joined = |kind: &str, one: char, other: char| {
        let parts = format!("{image}@{} {image}@{}", digest(one), digest(other));
        format!("buildx imagetools create --tag {image}:v1.2.3{kind} {parts}")
    };
    let expected = [joined("", 'a', 'c'), joined("-full", 'b', 'd')];
    assert_eq!(logged(&checkout, "docker", "buildx imagetools create"), expected);
    assert_eq!(checkout.read("../output"), format!("digest={}\ndigest-full={}\n", digest('e'), digest('f')));
    let files = checkout.bash("ls built");
    let expected = [
        "SHA256SUMS",
        "full-image-packages-aarch64.txt",
        "full-image-packages-x86_64.txt",
        "npm-qa-skill-1.2.3.tgz",
        "npm-qa-skill-darwin-arm64-1.2.3.tgz",
        "npm-qa-skill-darwin-x64-1.2.3.tgz",
        "npm-qa-skill-linux-arm64-1.2.3.tgz",
        "npm-qa-skill-linux-x64-1.2.3.tgz",
        "npm-qa-skill-win32-arm64-1.2.3.tgz",
        "npm-qa-skill-win32-x64-1.2.3.tgz",
        "qa-skill-aarch64-apple-darwin.tar.gz",
        "qa-skill-aarch64-pc-windows-msvc.tar.gz",
        "qa-skill-aarch64-unknown-linux-musl",
        "qa-skill-aarch64-unknown-linux-musl.tar.gz",
        "qa-skill-x86_64-apple-darwin.tar.gz",
        "qa-skill-x86_64-pc-windows-msvc.tar.gz",
        "qa-skill-x86_64-unknown-linux-musl",
        "qa-skill-x86_64-unknown-linux-musl.tar.gz",
        "qa-skill.rb",
        "qa_skill-1.2.3-py3-none-macosx_10_12_x86_64.whl",
        "qa_skill-1.2.3-py3-none-macosx_11_0_arm64.whl",
        "qa_skill-1.2.3-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
        "qa_skill-1.2.3-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl",
        "qa_skill-1.2.3-py3-none-win_amd64.whl",
        "qa_skill-1.2.3-py3-none-win_arm64.whl",
    ];
    assert_eq!(files.lines().collect::<Vec<_>>(), expected);
    let checked = checkout.bash("cd built && sha256sum --check --strict SHA256SUMS");
    let ok: Vec<String> = expected[1..].iter().map(|name| format!("{name}: OK")).collect();
    assert_eq!(checked.lines().collect::<Vec<_>>(), ok);

    let one = packaged();
    one.bash("rm built/digest-full-aarch64");
    one.refuses(&["join", "1.2.3"], "digest-full-aarch64");
    assert!(!one.path("built/SHA256SUMS").exists());
}

#[test]
fn archives_have_the_program_with_its_completions_and_the_same_bytes_again() {
    let checkout = packaged();
    checkout.step(&["join", "1.2.3"]);
    let windows = checkout.bash("tar -tzf built/qa-skill-x86_64-pc-windows-msvc.tar.gz");
    assert!(windows.lines().any(|name| name == "qa-skill-x86_64-pc-windows-msvc/qa-skill.exe"), "{windows}");
    let folder = "qa-skill-x86_64-unknown-linux-musl";
    let names =
        checkout.bash(&format!("LC_ALL=C tar -tzf built/{folder}.tar.gz | grep -v /$ | sed 's|{folder}/||'"));
    let completions = ["bash", "elvish", "fish", "powershell", "zsh"]
        .map(|shell| format!("completions/qa-skill.{shell}\n"));
    let expected = format!(
        "CHANGELOG.md\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\n{}man/qa-skill.1\nqa-skill",
        completions.concat()
    );
    assert_eq!(names, expected);
    let run = format!(
        "mkdir unpacked && tar -xzf built/{folder}.tar.gz -C unpacked && unpacked/{folder}/qa-skill completions zsh"
    );
    assert_eq!(checkout.bash(&run), "completions for zsh");

    let again = packaged();
    again.bash("touch -d 2001-01-01 built/archive-*/*/*");
    again.step(&["join", "1.2.3"]);
    assert_eq!(checkout.read("built/SHA256SUMS"), again.read("built/SHA256SUMS"));

    let one = packaged();
    one.bash("rm -r built/archive-aarch64-apple-darwin");
    one.refuses(&["join", "1.2.3"], "nothing was built for aarch64-apple-darwin");
    assert!(!one.path("built/SHA256SUMS").exists());
    one.refuses(
        &["package", "riscv64gc-unknown-linux-gnu", "../program"],
        "there is no archive for riscv64gc",
    );
}

/// Keeps one release: nothing, `true` for a draft or `false` for a published one.
const GH: &str = r#"
echo "$*" >> ../gh.log
case "$2" in
    view) cat ../release ;;
    create) echo true > ../release; cat > ../notes ;;
    upload) [ ! -e ../refused ] ;;
    edit) echo false > ../release ;;
esac
"#;

#[test]
fn a_release_is_a_draft_until_every_file_is_there() {
    let checkout = packaged();
    checkout.step(&["join", "1.2.3"]);
    checkout.stand_in("gh", GH);
    let publish = ["publish", "1.2.3", &digest('e'), &digest('f')];
    let view = "release view v1.2.3 --json isDraft --jq .isDraft".to_owned();
    let create = "release create v1.2.3 --draft --verify-tag --title v1.2.3 --notes-file -".to_owned();
    let files = checkout.bash("ls -d built/* | xargs");
    let upload = format!("release upload v1.2.3 --clobber {files}");
    let edit = "release edit v1.2.3 --draft=false".to_owned();

    // Without its files it stays a draft, and another run of the job goes on with that.
    checkout.write("../refused", "");
    let output = checkout.command(&[&["scripts/release.sh"], &publish[..]].concat()).output().unwrap();
    Outcome::from_output(&output).expect(1);
    assert_eq!(logged(&checkout, "gh", "release"), [view.clone(), create, upload.clone()]);
    assert_eq!(checkout.read("../release"), "true\n");
    let notes = checkout.read("../notes");
    let image = "ghcr.io/owner/qa-skill";
    for part in ["- New.", &format!("{image}@{}", digest('e')), &format!("{image}@{}", digest('f'))] {
        assert!(notes.contains(part) && !notes.contains("- Old."), "{part}: {notes}");
    }

    checkout.bash("rm ../refused ../gh.log");
    checkout.step(&publish);
    assert_eq!(logged(&checkout, "gh", "release"), [view.clone(), upload, edit]);
    assert_eq!(checkout.read("../release"), "false\n");

    checkout.bash("rm ../gh.log");
    checkout.step(&publish);
    assert_eq!(logged(&checkout, "gh", "release"), [view]);
}
