//! Packages of a release, installed by npm and pip themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::parts::packages;
use crate::support::{Outcome, temp};

const TARGETS: [&str; 6] = [
    "aarch64-apple-darwin",
    "aarch64-pc-windows-msvc",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-musl",
];
/// Says how it was called and ends as it is told.
const PROGRAM: &str =
    "#!/bin/sh\necho \"called with [$1] [$2]\"\n[ \"$1\" != stop ] || kill -s TERM $$\nexit $#\n";

/// The packages of version 1.2.3, all with the same program.
struct Built {
    home: tempfile::TempDir,
}

impl Built {
    fn new() -> Self {
        let built = Self { home: temp() };
        for target in TARGETS {
            let directory = built.path(&format!("qa-skill-{target}"));
            fs::create_dir_all(&directory).unwrap();
            let program = if target.contains("windows") { "qa-skill.exe" } else { "qa-skill" };
            for (name, text) in [(program, PROGRAM), ("README.md", "# Page\n"), ("LICENSE-APACHE", "A\n")] {
                fs::write(directory.join(name), text).unwrap();
            }
            fs::write(directory.join("LICENSE-MIT"), "M\n").unwrap();
            let archive = format!("qa-skill-{target}.tar.gz");
            built.run("tar", &["-czf", &archive, &format!("qa-skill-{target}")]).expect(0);
        }
        built.make().expect(0);
        built
    }

    fn make(&self) -> Outcome {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/packages.py");
        let url = "https://github.example/Acme/qa-skill/releases/download/v1.2.3";
        self.run(script.to_str().unwrap(), &["1.2.3", url, "."])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Outcome {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.home.path()).env("HOME", self.home.path());
        Outcome::from_output(&command.output().unwrap())
    }

    fn npm(&self, archives: &[&str]) -> Outcome {
        let install =
            ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "node"];
        self.run("npm", &[&install, archives].concat())
    }
}

#[test]
fn npm_installs_the_launcher_with_the_program_of_the_system() {
    if packages(&[]).is_none() {
        return;
    }
    let built = Built::new();
    let system = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let program = format!("./npm-qa-skill-{system}-1.2.3.tgz");
    built.npm(&["./npm-qa-skill-1.2.3.tgz", &program]).expect(0);
    let command = built.path("node/node_modules/.bin/qa-skill");
    let called = |arguments: &[&str]| built.run(command.to_str().unwrap(), arguments);
    assert_eq!(called(&["a b", "$(id)"]).expect(2).text(), "called with [a b] [$(id)]\n");
    called(&[]).expect(0);
    // The launcher ends by the signal that ended the program.
    let shell = format!("{} stop; echo status $?", command.display());
    assert!(built.run("bash", &["-c", &shell]).text().ends_with("status 143\n"));

    let foreign = built.npm(&["./npm-qa-skill-darwin-arm64-1.2.3.tgz"]);
    assert!(foreign.exit != 0 && foreign.stderr.contains("EBADPLATFORM"), "{}", foreign.stderr);
    fs::remove_dir_all(built.path(&format!("node/node_modules/@acme/qa-skill-{system}"))).unwrap();
    let missing = called(&["run"]).expect(3);
    assert!(
        missing.stderr.contains(&format!("@acme/qa-skill-{system} is not installed")),
        "{}",
        missing.stderr
    );
}

#[test]
fn pip_installs_the_program_of_each_system() {
    let Some(pip) = packages(&[]).map(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/pip")) else {
        return;
    };
    let pip = pip.to_str().unwrap();
    let built = Built::new();
    built.run("python3", &["-m", "venv", "--without-pip", "python"]).expect(0);
    let wheels = ["--no-index", "--find-links", ".", "qa-skill"];
    let here = [&["--python", "python/bin/python", "install"], &wheels[..]].concat();
    built.run(pip, &here).expect(0);
    let program = built.path("python/bin/qa-skill");
    assert_eq!(built.run(program.to_str().unwrap(), &["x"]).expect(1).text(), "called with [x] []\n");

    for (platform, wheel) in [
        ("macosx_14_0_arm64", "macosx_11_0_arm64"),
        ("macosx_13_0_x86_64", "macosx_10_12_x86_64"),
        ("manylinux2014_aarch64", "manylinux2014_aarch64.musllinux_1_1_aarch64"),
        ("musllinux_1_1_x86_64", "manylinux2014_x86_64.musllinux_1_1_x86_64"),
        ("win_amd64", "win_amd64"),
        ("win_arm64", "win_arm64"),
    ] {
        let place = format!("downloaded-{platform}");
        let options = ["download", "--only-binary", ":all:", "--platform", platform, "--dest", &place];
        built.run(pip, &[&options, &wheels[..]].concat()).expect(0);
        assert!(
            built.path(&place).join(format!("qa_skill-1.2.3-py3-none-{wheel}.whl")).is_file(),
            "{platform}"
        );
    }
    let options = ["download", "--only-binary", ":all:", "--platform", "linux_riscv64", "--dest", "none"];
    assert_ne!(built.run(pip, &[&options, &wheels[..]].concat()).exit, 0);
}

#[test]
fn packages_are_the_same_bytes_again_and_name_what_is_missing() {
    let built = Built::new();
    let digests = || built.run("bash", &["-c", "sha256sum npm-* *.whl qa-skill.rb"]).expect(0).text();
    let before = digests();
    built.make().expect(0);
    assert_eq!(digests(), before);
    let archive = "qa-skill-x86_64-apple-darwin.tar.gz";
    built.run("tar", &["-czf", archive, "qa-skill-x86_64-apple-darwin/README.md"]).expect(0);
    let outcome = built.make().expect(1);
    assert!(outcome.stderr.contains(&format!("{archive} has no qa-skill")), "{}", outcome.stderr);
}
