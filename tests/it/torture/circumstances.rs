//! Runs of one change under circumstances drawn and combined at random: one key, one digest, one verdict.
//!
//! Left out, because the execution key covers it: options that replace the policy's settings (`--mode`, `--preset`,
//! `--lens`), the policy itself, and the address of the origin, which names the repository and is rewritten by
//! `url.*.insteadOf` as git rewrites it. Left out, because it is no circumstance of a verdict: a standard output that is
//! full, which ends with exit code 3. The clock is the machine's; a process takes no other from outside. A reftable is
//! read by commit ids alone, so names are not drawn for it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Amounts;
use super::changes::{Change, generate};
use crate::support::{
    Outcome, Program, Random, RunDir, copy_tree, formats, git, own_pids, qa_skill, runs_in, temp,
};

/// A user without rights.
const ANOTHER_USER: &str = "1001";

/// What this machine allows.
pub(super) struct Machine {
    root: bool,
    pub(super) own_pids: Option<&'static [&'static str]>,
    /// A copy of the program that every user may run.
    binary: PathBuf,
    home: tempfile::TempDir,
}

impl Machine {
    pub(super) fn new() -> Self {
        let home = open_directory();
        let binary = home.path().join("qa-skill");
        let built = env!("CARGO_BIN_EXE_qa-skill");
        fs::hard_link(built, &binary).or_else(|_| fs::copy(built, &binary).map(drop)).unwrap();
        let root = fs::metadata("/proc/self").unwrap().uid() == 0;
        Self { root, own_pids: own_pids(), binary, home }
    }
}

/// Returns a fresh directory that every user may enter.
fn open_directory() -> tempfile::TempDir {
    let directory = temp();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// Ways to store the commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    Loose,
    Packed,
    PackedDeep,
    Bare,
    Alternate,
    Shallow,
    LinkedWorktree,
    Sparse,
    Reftable,
    BaseCheckedOut,
    Dirty,
}

const STORAGES: &[Storage] = &[
    Storage::Loose,
    Storage::Packed,
    Storage::PackedDeep,
    Storage::Bare,
    Storage::Alternate,
    Storage::Shallow,
    Storage::LinkedWorktree,
    Storage::Sparse,
    Storage::Reftable,
    Storage::BaseCheckedOut,
    Storage::Dirty,
];

/// Names of the directory that the checkout is in.
const PLACES: &[&[u8]] = &[
    b"plain",
    b"with some  spaces",
    "\u{fc}n\u{ef}c\u{f6}d\u{e9} \u{65e5}\u{672c}".as_bytes(),
    b"bell\x07 escape\x1b[31m",
    b"line\nbreak",
    b"latin-\xe9",
    b"-rf",
    b"it's \"quoted\" $HOME `x` %s \\",
    b"runs/.tmp-0000-1",
    b"long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long",
];

/// Settings of a repository that must not matter. The commands write a file that must not be there afterwards.
const SETTINGS: &[&str] = &[
    "[core]\nautocrlf = true\n",
    "[core]\nautocrlf = input\neol = crlf\nsafecrlf = true\n",
    "[core]\nignoreCase = true\n",
    "[core]\nprecomposeUnicode = true\nquotePath = true\n",
    "[core]\nfileMode = false\nsymlinks = false\n",
    "[core]\nbigFileThreshold = 1\ncompression = 0\nabbrev = 4\n",
    "[core]\nattributesFile = attributes\nexcludesFile = excludes\nnotesRef = refs/notes/x\n",
    "[core]\nfsmonitor = touch EVIL\nhooksPath = hooks\nsshCommand = touch EVIL\npager = touch EVIL\n",
    "[filter \"evil\"]\nclean = touch EVIL\nsmudge = touch EVIL\nprocess = touch EVIL\nrequired = true\n",
    "[diff]\nalgorithm = patience\nrenames = false\nnoprefix = true\ncontext = 0\nexternal = touch EVIL\n",
    "[diff \"evil\"]\ntextconv = touch EVIL\ncommand = touch EVIL\nbinary = true\n",
    "[i18n]\ncommitEncoding = latin1\nlogOutputEncoding = utf-16\n",
    "[include]\npath = /does/not/exist\n",
    "[transfer]\nhideRefs = refs/heads\n[gc]\nauto = 1\n[log]\nshowSignature = true\n",
];

impl Storage {
    /// Makes a checkout of a change in an empty directory and returns where it is.
    fn build(self, change: &Change, place: &Path) -> PathBuf {
        let source = change.repo.to_str().unwrap();
        let (repo, depth) = (place.join("repo"), change.depth.to_string());
        let copied = || copy_tree(&change.repo, &repo);
        let clone = |options: &[&str], from: &str| {
            git(place, &[&["clone", "-q"], options, &["--", from, "repo"]].concat());
        };
        match self {
            Self::Loose => copied(),
            Self::Packed => {
                copied();
                git(&repo, &["gc", "-q", "--prune=now"]);
            }
            Self::PackedDeep => {
                copied();
                git(&repo, &["repack", "-q", "-a", "-d", "-f", "--depth=250", "--window=50"]);
                git(&repo, &["commit-graph", "write", "--reachable"]);
            }
            Self::Bare => clone(&["--mirror"], source),
            Self::Alternate => clone(&["--mirror", "--shared"], source),
            Self::Shallow => {
                clone(&["--mirror", "--no-single-branch", "--depth", &depth], &format!("file://{source}"));
            }
            Self::LinkedWorktree => {
                copied();
                git(&repo, &["worktree", "add", "-q", "--detach", "../linked", "main"]);
                return place.join("linked");
            }
            Self::Sparse => {
                copied();
                git(&repo, &["sparse-checkout", "set", "docs"]);
                git(&repo, &["checkout", "-q", "-f", "topic"]);
            }
            Self::Reftable => clone(&["--mirror", "--ref-format=reftable"], source),
            Self::BaseCheckedOut => {
                copied();
                git(&repo, &["checkout", "-q", "-f", "main"]);
            }
            Self::Dirty => {
                copied();
                git(&repo, &["checkout", "-q", "-f", "topic"]);
                fs::write(repo.join(".gitattributes"), "* binary filter=evil diff=evil\n").unwrap();
                fs::write(repo.join("src/conflict.py"), "clean = 1\n").unwrap();
                fs::create_dir_all(repo.join(".qa-skill")).unwrap();
                fs::write(repo.join(".qa-skill/policy.toml"), "preset = \"advisory\"\n").unwrap();
            }
        }
        repo
    }
}

/// Adds drawn settings to the configuration of a checkout.
fn configure(random: &mut Random, place: &Path, home: &Path) -> Vec<&'static str> {
    let repo = place.join("repo");
    let directory = if repo.join(".git").is_dir() { repo.join(".git") } else { repo };
    let chosen: Vec<&str> = SETTINGS.iter().copied().filter(|_| random.below(4) == 0).collect();
    let path = directory.join("config");
    let before = fs::read_to_string(&path).unwrap();
    let evil = home.join("EVIL");
    let settings = chosen.concat().replace("EVIL", evil.to_str().unwrap());
    fs::write(&path, before + &settings).unwrap();
    fs::create_dir_all(directory.join("info")).unwrap();
    fs::write(directory.join("info/attributes"), "* filter=evil diff=evil -text\n").unwrap();
    chosen
}

/// A drawn run.
struct Drawn {
    program: Program,
    out: PathBuf,
    /// Names of the circumstances, for the report of a fault.
    names: Vec<String>,
}

impl Drawn {
    fn with(mut self, name: impl Into<String>, change: impl FnOnce(Program) -> Program) -> Self {
        self.names.push(name.into());
        self.program = change(self.program);
        self
    }

    /// Sets a variable in half of all cases.
    fn maybe_env(self, random: &mut Random, name: &str, values: &[&[u8]]) -> Self {
        if random.below(2) == 0 {
            return self;
        }
        let value = OsStr::from_bytes(values[random.below(values.len())]);
        self.with(format!("{name}={}", value.display()), |program| program.env(name, value))
    }
}

/// Draws the options of a run that decide nothing.
fn options(random: &mut Random, drawn: Drawn) -> Drawn {
    let jobs = (1 + random.below(16)).to_string();
    let format = *random.pick(&formats());
    let drawn = drawn.with(format!("--jobs {jobs}"), |program| program.args(["--jobs", &jobs]));
    let drawn = drawn.with(format!("--format {format}"), |program| program.args(["--format", format]));
    match random.below(3) {
        0 => drawn.with("--quiet", |program| program.arg("--quiet")),
        1 => drawn.with("--color always", |program| program.args(["--color", "always"])),
        _ => drawn,
    }
}

/// Draws variables: those that other programs heed, those of git, and those that are recorded and decide nothing.
fn variables(random: &mut Random, drawn: Drawn, home: &Path) -> Drawn {
    let config = "[core]\nautocrlf = true\n[diff]\nalgorithm = histogram\nrenames = copies\n[safe]\ndirectory = /nowhere\n";
    fs::write(home.join(".gitconfig"), config).unwrap();
    let hostile_home = home.as_os_str().as_bytes();
    let missing: &[u8] = b"/does/not/exist";
    let lists: &[(&str, &[&[u8]])] = &[
        (
            "TZ",
            &[
                b"UTC",
                b"Asia/Kathmandu",
                b"America/St_Johns",
                b"Pacific/Chatham",
                b":/etc/passwd",
                b"X-25:99",
            ],
        ),
        ("LC_ALL", &[b"C", b"C.UTF-8", b"tr_TR.UTF-8", b"de_DE", b"ar_EG", b"\xff"]),
        ("LANG", &[b"", b"ja_JP.eucJP", b"tr_TR"]),
        ("LANGUAGE", &[b"de:fr"]),
        ("HOME", &[hostile_home, missing, b"", b"/", b"relative"]),
        ("XDG_CONFIG_HOME", &[hostile_home, missing]),
        ("TMPDIR", &[b"/dev/shm", missing, b"", b"relative", b"/dev/null"]),
        ("NO_COLOR", &[b"1"]),
        ("CLICOLOR_FORCE", &[b"1"]),
        ("COLUMNS", &[b"0", b"43", b"100000", b"-1", b"x"]),
        ("TERM", &[b"dumb", b"xterm-256color", b"\xff"]),
        ("CI", &[b"true"]),
        ("CODE_QA_CADENCE", &[b"off", b"7", b"x"]),
        ("CODE_QA_REVIEW_COOLDOWN_TURNS", &[b"9", b"-1"]),
        ("CODE_QA_SOMETHING", &[b"else"]),
        ("GIT_DIR", &[missing]),
        ("GIT_WORK_TREE", &[missing]),
        ("GIT_INDEX_FILE", &[missing]),
        ("GIT_OBJECT_DIRECTORY", &[missing]),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &[missing]),
        ("GIT_COMMON_DIR", &[missing]),
        ("GIT_NAMESPACE", &[b"other"]),
        ("GIT_CEILING_DIRECTORIES", &[b"/"]),
        ("GIT_CONFIG_GLOBAL", &[missing]),
        ("GIT_CONFIG_PARAMETERS", &[b"'diff.algorithm=minimal'"]),
        ("GIT_EXTERNAL_DIFF", &[b"false"]),
        ("GIT_ATTR_SOURCE", &[b"topic"]),
        ("GIT_DEFAULT_HASH", &[b"sha256"]),
        ("GITHUB_REPOSITORY", &[b"other/other"]),
        ("GITHUB_SHA", &[b"0000000000000000000000000000000000000000"]),
        ("GITHUB_BASE_REF", &[b"other"]),
        ("GITHUB_EVENT_NAME", &[b"push"]),
        ("HTTPS_PROXY", &[b"http://127.0.0.1:9"]),
        ("ALL_PROXY", &[b"socks5://127.0.0.1:9"]),
        ("SSL_CERT_FILE", &[missing]),
        ("RUST_LOG", &[b"trace"]),
        ("RUST_BACKTRACE", &[b"full"]),
        ("MALLOC_PERTURB_", &[b"165"]),
        ("SOURCE_DATE_EPOCH", &[b"1"]),
        ("NOT_UNICODE", &[b"\xff\xfe"]),
    ];
    lists.iter().fold(drawn, |drawn, (name, values)| drawn.maybe_env(random, name, values))
}

/// Draws what the process is under: namespace, user, priority, processors, limits, mask, and where its streams lead.
fn process(random: &mut Random, mut drawn: Drawn, machine: &Machine) -> Drawn {
    // The namespace comes first, since it takes root. The shell comes last and becomes the program.
    if let Some(own_pids) = machine.own_pids.filter(|_| random.below(3) == 0) {
        drawn = drawn.with("PID 1", |program| program.under(own_pids).under(["--mount-proc"]));
    }
    if random.below(4) == 0 {
        drawn = drawn.with("nice", |program| program.under(["nice", "-n", "15"]));
    }
    if random.below(4) == 0 {
        drawn = drawn.with("one core", |program| program.under(["taskset", "-c", "0"]));
    }
    if random.below(4) == 0 {
        drawn = drawn.with("no address randomisation", |program| program.under(["setarch", "-R"]));
    }
    if machine.root && random.below(3) == 0 {
        let ids = ["--reuid", ANOTHER_USER, "--regid", ANOTHER_USER, "--clear-groups"];
        drawn = drawn.with("another user", |program| program.under(["setpriv"]).under(ids));
    }
    let mask = random.pick(&["000", "022", "027", "077"]);
    let files = random.pick(&["64", "128", "1024"]);
    let stdin = random.pick(&["", "<&-", "</dev/zero", "< <(:)"]);
    let stdout = random.pick(&["", ">&-", ">/dev/null", "> >(:)", "> >(/bin/cat >/dev/null)"]);
    let stderr = random.pick(&["", "2>&-", "2>/dev/null"]);
    let path = random.pick(&["", ".", "/does/not/exist", "/usr/bin:/bin"]);
    let script =
        format!("umask {mask}; ulimit -n {files}; export PATH={path}; exec \"$@\" {stdin} {stdout} {stderr}");
    drawn.with(format!("sh: {script}"), |program| program.under(["/bin/bash", "-c", &script, "bash"]))
}

/// Draws how the commits are named.
fn revisions(random: &mut Random, drawn: Drawn, change: &Change, storage: Storage) -> Drawn {
    let ids = [change.base.as_str(), &change.head];
    let pairs = [ids, ["main", "topic"], ["refs/heads/main", "heads/topic"]];
    let [base, head] = if storage == Storage::Reftable { ids } else { *random.pick(&pairs) };
    drawn.with(format!("{base}..{head}"), |program| program.args(["--base", base, "--head", head]))
}

/// Draws a run of a change below a directory.
fn draw(random: &mut Random, machine: &Machine, change: &Change, home: &Path) -> Drawn {
    let (storage, name) = (*random.pick(STORAGES), *random.pick(PLACES));
    let place = home.join(OsStr::from_bytes(name));
    fs::create_dir_all(&place).unwrap();
    let checkout = storage.build(change, &place);
    let settings = configure(random, &place, home);
    // Another user can write here, and only root can make it another user's directory.
    let out = place.join("out");
    fs::create_dir(&out).unwrap();
    fs::set_permissions(&out, PermissionsExt::from_mode(0o777)).unwrap();
    let names = vec![format!("{storage:?} in {:?}", OsStr::from_bytes(name)), format!("{settings:?}")];
    let program = qa_skill(["run", "--out"]).with_binary(&machine.binary).arg(&out).arg("--repo");
    let drawn = Drawn { program, out, names };
    let drawn = match random.below(3) {
        0 => drawn.with("within the checkout", |program| program.arg(".").within(&checkout)),
        1 => drawn.with("within /", |program| program.arg(&checkout).within(Path::new("/"))),
        _ => drawn.with("within its parent", |program| {
            program.arg(checkout.file_name().unwrap()).within(checkout.parent().unwrap())
        }),
    };
    let drawn = revisions(random, drawn, change, storage);
    let drawn = options(random, drawn);
    let drawn = variables(random, drawn, home);
    process(random, drawn, machine)
}

/// Runs it, and compares key, digests and verdict with the reference.
fn judge(drawn: &Drawn, change: &Change) -> Result<RunDir, String> {
    let outcome = Outcome::from_output(&drawn.program.command().output().unwrap());
    if outcome.exit != 1 {
        return Err(format!("exit code {}: {}", outcome.exit, outcome.stderr));
    }
    let runs = runs_in(&drawn.out);
    let [run] = runs.as_slice() else { return Err(format!("several runs: {runs:?}")) };
    let run = RunDir(run.clone());
    let (name, expected) = (run.0.file_name(), change.reference.0.file_name());
    if name != expected {
        return Err(format!("key {name:?} instead of {expected:?}"));
    }
    let (digests, expected) = (run.digests(), change.reference.digests());
    let differing: Vec<_> =
        digests.iter().filter(|(path, digest)| expected.get(*path) != Some(digest)).collect();
    if !differing.is_empty() || run.run_digest() != change.reference.run_digest() {
        return Err(format!("another result: {differing:?}"));
    }
    Ok(run)
}

/// Expects that a run can be derived again.
fn verify(run: &RunDir) -> Result<(), String> {
    let outcome = run.verify().run();
    if outcome.exit == 0 { Ok(()) } else { Err(format!("verify: {}", outcome.stderr)) }
}

#[test]
fn nothing_but_the_change_matters_under_any_circumstances() {
    let amounts = Amounts::from_environment();
    let machine = Machine::new();
    let changes: Vec<Change> =
        (0..amounts.changes).map(|number| generate(&mut amounts.for_change(number))).collect();
    amounts.for_each("runs", amounts.runs, |random, case| {
        let change = random.pick(&changes);
        let home = tempfile::Builder::new().prefix("case-").tempdir_in(machine.home.path()).unwrap();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let drawn = draw(random, &machine, change, home.path());
        let judged = judge(&drawn, change);
        // Some are derived again too.
        let verified = judged.and_then(|run| if case % 8 == 0 { verify(&run) } else { Ok(()) });
        let verified = verified.and_then(|()| {
            let was_run = home.path().join("EVIL").exists();
            if was_run { Err("a command of the configuration was run".to_owned()) } else { Ok(()) }
        });
        verified.map_err(|fault| format!("{fault}\n  {}", drawn.names.join("\n  ")))
    });
}
