//! Installations of what a project depends on: those that fail where the lockfile does not have it, and those that write
//! another one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::Side;

use super::calls::joined;
use super::names::DIFFERENCES;
use super::tree::{Check, Job, Runner};
use super::triggers::Reach;
use super::{ChangeSet, SOFTENED};
use crate::contract::Lookups;

/// A package manager, with the words that decide whether it keeps to the lockfile.
struct Manager {
    tool: &'static str,
    /// Managers of one family take each other's place.
    family: &'static str,
    /// Subcommands that install what the manifest asks for, some before other work; empty for the tool alone.
    commands: &'static [&'static str],
    /// Words by which they fail where the lockfile has something else, and those by which they do not.
    locked: &'static [&'static str],
    unlocked: &'static [&'static str],
    /// True if they fail where no word decides.
    is_locked: bool,
    /// Names of the lockfile, one of which has to be there; none where it may lie anywhere.
    files: &'static [&'static str],
    /// Settings in files by which it fails without a word of the command, where they are on; the file without a name is
    /// the workflow.
    settings: &'static [(&'static str, &'static str)],
}

const MANAGERS: &[Manager] = &[
    Manager {
        tool: "bun",
        family: "node",
        commands: &["ci", "i", "install"],
        locked: &["--frozen-lockfile", "ci"],
        unlocked: &[],
        is_locked: false,
        files: &["bun.lock", "bun.lockb"],
        settings: &[("bunfig.toml", "frozenLockfile")],
    },
    Manager {
        tool: "bundle",
        family: "bundler",
        commands: &["", "install", "update"],
        locked: &["--deployment", "--frozen"],
        unlocked: &["update"],
        is_locked: false,
        files: &["Gemfile.lock", "gems.locked"],
        settings: &[
            (".bundle/config", "BUNDLE_DEPLOYMENT"),
            (".bundle/config", "BUNDLE_FROZEN"),
            ("", "BUNDLE_DEPLOYMENT"),
            ("", "BUNDLE_FROZEN"),
            ("", "config set deployment"),
            ("", "config set --local deployment"),
            ("", "config set frozen"),
            ("", "config set --local frozen"),
        ],
    },
    Manager {
        tool: "cargo",
        family: "cargo",
        commands: &[
            "b",
            "bench",
            "build",
            "c",
            "check",
            "clippy",
            "d",
            "doc",
            "fetch",
            "generate-lockfile",
            "llvm-cov",
            "metadata",
            "miri",
            "nextest",
            "r",
            "run",
            "rustc",
            "t",
            "tarpaulin",
            "test",
            "tree",
            "update",
        ],
        locked: &["--frozen", "--locked"],
        unlocked: &["generate-lockfile", "update"],
        is_locked: false,
        files: &["Cargo.lock"],
        settings: &[],
    },
    Manager {
        tool: "composer",
        family: "composer",
        commands: &["i", "install", "u", "up", "update", "upgrade"],
        locked: &[],
        unlocked: &["u", "up", "update", "upgrade"],
        is_locked: true,
        files: &["composer.lock"],
        settings: &[],
    },
    Manager {
        tool: "deno",
        family: "deno",
        commands: &["cache", "ci", "install", "run", "task", "test"],
        locked: &["--frozen", "ci"],
        unlocked: &["--frozen=false", "--no-lock"],
        is_locked: false,
        files: &["deno.lock"],
        settings: &[("deno.json", "frozen"), ("deno.jsonc", "frozen")],
    },
    Manager {
        tool: "dotnet",
        family: "dotnet",
        commands: &["restore"],
        locked: &["--locked-mode", "-p:RestoreLockedMode=true", "/p:RestoreLockedMode=true"],
        unlocked: &["--force-evaluate"],
        is_locked: false,
        files: &[],
        settings: &[("Directory.Build.props", "RestoreLockedMode"), ("", "RestoreLockedMode")],
    },
    Manager {
        tool: "mix",
        family: "mix",
        commands: &["deps.get", "deps.update"],
        locked: &["--check-locked"],
        unlocked: &["deps.update"],
        is_locked: false,
        files: &["mix.lock"],
        settings: &[],
    },
    Manager {
        tool: "npm",
        family: "node",
        commands: &[
            "ci",
            "cit",
            "clean-install",
            "i",
            "in",
            "install",
            "install-ci-test",
            "install-test",
            "it",
        ],
        locked: &["ci", "cit", "clean-install", "install-ci-test"],
        unlocked: &[],
        is_locked: false,
        files: &["npm-shrinkwrap.json", "package-lock.json"],
        settings: &[],
    },
    Manager {
        tool: "pdm",
        family: "python",
        commands: &["install", "sync", "update"],
        locked: &["--check", "--frozen-lockfile", "--locked", "sync"],
        unlocked: &["update"],
        is_locked: false,
        files: &["pdm.lock"],
        settings: &[],
    },
    Manager {
        tool: "pipenv",
        family: "python",
        commands: &["install", "sync", "update", "upgrade"],
        locked: &["--deploy", "--ignore-pipfile", "sync"],
        unlocked: &["update", "upgrade"],
        is_locked: false,
        files: &["Pipfile.lock"],
        settings: &[("", "PIPENV_IGNORE_PIPFILE")],
    },
    Manager {
        tool: "pnpm",
        family: "node",
        commands: &["i", "install", "up", "update"],
        locked: &["--frozen-lockfile"],
        unlocked: &[
            "--config.frozen-lockfile=false",
            "--fix-lockfile",
            "--frozen-lockfile=false",
            "--no-frozen-lockfile",
            "--no-lockfile",
            "up",
            "update",
        ],
        // In CI; elsewhere it writes.
        is_locked: true,
        files: &["pnpm-lock.yaml"],
        settings: &[],
    },
    Manager {
        tool: "poetry",
        family: "python",
        commands: &["install", "lock", "sync", "update"],
        locked: &[],
        unlocked: &["lock", "update"],
        is_locked: true,
        files: &["poetry.lock"],
        settings: &[],
    },
    Manager {
        tool: "terraform",
        family: "terraform",
        commands: &["init"],
        locked: &["--lockfile=readonly", "-lockfile=readonly"],
        unlocked: &["-upgrade"],
        is_locked: false,
        files: &[".terraform.lock.hcl"],
        settings: &[("", "-lockfile=readonly")],
    },
    Manager {
        tool: "uv",
        family: "python",
        commands: &["export", "lock", "run", "sync"],
        locked: &["--check", "--frozen", "--locked"],
        unlocked: &["--upgrade", "-U"],
        is_locked: false,
        files: &["uv.lock"],
        settings: &[("", "UV_FROZEN"), ("", "UV_LOCKED")],
    },
    Manager {
        tool: "yarn",
        family: "node",
        commands: &["", "install", "up", "upgrade"],
        locked: &["--frozen-lockfile", "--immutable"],
        unlocked: &["--immutable=false", "--mode=update-lockfile", "--no-immutable", "up", "upgrade"],
        is_locked: false,
        files: &["yarn.lock"],
        settings: &[(".yarnrc", "frozen-lockfile"), ("", "YARN_ENABLE_IMMUTABLE_INSTALLS")],
    },
];

/// Options that have their value in the next word.
const VALUED: &[&str] = &[
    "--cwd",
    "--dir",
    "--extra",
    "--filter",
    "--group",
    "--jobs",
    "--prefix",
    "--requirement",
    "--target",
    "--with",
    "--without",
    "--workspace",
    "-C",
    "-F",
    "-c",
    "-d",
    "-j",
    "-r",
    "-w",
];

/// A command that installs what a manifest asks for.
struct Installation {
    manager: &'static Manager,
    /// `None` where no word decides.
    is_locked: Option<bool>,
    /// True if a variable may have the word that decides.
    is_computed: bool,
}

impl Installation {
    /// Reads the words of a command; one that names packages installs others.
    fn new(command: &str) -> Option<Self> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (at, manager) = words.iter().enumerate().take(8).find_map(|(at, word)| {
            let name = word.rsplit('/').next().unwrap_or_default();
            Some((at, MANAGERS.iter().find(|manager| manager.tool == name)?))
        })?;
        let words = &words[at + 1..];
        let mut operands = operands(words);
        let subcommand = operands.next().unwrap_or_default();
        let names_packages = operands.next().is_some() && !matches!(manager.tool, "cargo" | "deno" | "uv");
        let is_global = words.iter().any(|word| matches!(*word, "--global" | "-g"));
        if !manager.commands.contains(&subcommand) || names_packages || is_global {
            return None;
        }
        let is_computed = words.windows(2).any(|pair| pair[1].starts_with('$') && !pair[0].starts_with('-'));
        let is_locked = match (has_any(words, manager.unlocked), has_any(words, manager.locked)) {
            (_, true) => Some(true),
            // It only looks.
            (_, false) if has_any(words, &["--check", "--dry-run"]) => Some(true),
            (true, false) => Some(false),
            (false, false) => None,
        };
        Some(Self { manager, is_locked, is_computed })
    }
}

fn has_any(words: &[&str], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(word))
}

/// Returns the words of a command that are neither options nor their values.
fn operands<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    let mut is_value = false;
    words.iter().copied().filter(move |word| {
        let is_operand = !std::mem::take(&mut is_value) && !word.starts_with(['-', '+']);
        is_value = VALUED.contains(word);
        is_operand
    })
}

/// Most installations of a family in a job that are compared.
const MOST: usize = 64;

/// The installations of one family in a job, in the order in which they run; each text once for a directory.
type Installations<'c> = Vec<(&'c Check, Installation)>;

/// Returns the installations that proposals or pushes run, by job and family; `None` where a job has too many.
fn by_job(checks: &[Check]) -> Option<BTreeMap<(Job, &'static str), Installations<'_>>> {
    let mut jobs: BTreeMap<_, Installations<'_>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for check in checks {
        let counts = check.runner == Runner::Ci && check.reach > Reach::Nothing && !check.is_lost();
        if !counts || !seen.insert((check.in_pipeline(), &check.text, &check.directory)) {
            continue;
        }
        if let Some(own) = Installation::new(&check.text) {
            let installations = jobs.entry((check.in_pipeline(), own.manager.family)).or_default();
            installations.push((check, own));
            if installations.len() > MOST {
                return None;
            }
        }
    }
    Some(jobs)
}

impl ChangeSet<'_> {
    /// Reports jobs that failed where the lockfile does not have what the manifest asks for, where no job does any more.
    pub(super) fn locks(&mut self, base: &[Check], head: &[Check]) {
        let (Some(older), Some(newer)) = (by_job(base), by_job(head)) else {
            return self.lookups.stop_short();
        };
        let files = Files { lookups: self.lookups, found: RefCell::default() };
        // The last look of each job at differences, which shows what was written before it.
        let looks = head.iter().enumerate().filter(|(_, check)| looks_at_lockfile(check));
        let looks: BTreeMap<Job, usize> = looks.map(|(at, check)| (check.in_pipeline(), at)).collect();
        // Jobs that keep to a lockfile, by their file, its manager and its directory.
        let mut keeping: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for ((job, _), installations) in &newer {
            let strict = installations.iter().filter(|(check, own)| files.is_locked(own, Side::Head, check));
            for (check, own) in strict {
                let key = (&job.0, own.manager.tool, &check.directory);
                keeping.entry(key).or_default().insert(&*job.1);
            }
        }
        let mut loosened = Vec::new();
        for (key, old) in &older {
            let (job, Some(new)) = (&key.0, newer.get(key)) else { continue };
            let is_locked = old.iter().any(|(check, own)| files.is_locked(own, Side::Base, check));
            let Some((check, own)) = files.loosened(old, new).filter(|_| is_locked) else { continue };
            let beside = keeping.get(&(&job.0, own.manager.tool, &check.directory));
            let is_kept = beside.is_some_and(|jobs| jobs.iter().any(|other| *other != &*job.1));
            let at = head.iter().position(|other| std::ptr::eq(other, *check));
            let is_looked_at = looks.get(job).is_some_and(|look| at.is_some_and(|at| at < *look));
            if !is_kept && !is_looked_at {
                loosened.push(*check);
            }
        }
        for check in loosened {
            let summary = "CI no longer fails where the lockfile does not match";
            self.add(SOFTENED, Side::Head, check.places.iter(), summary);
        }
    }
}

/// Returns whether a command fails where a lockfile differs from what is committed: it looks at it, or at all files.
fn looks_at_lockfile(check: &Check) -> bool {
    let mut words = check.text.split(' ').filter(|word| !word.starts_with('-'));
    let names_files = words.any(|word| word.contains(['/', '.']));
    check.checks.contains(DIFFERENCES) && !check.is_lost() && (!names_files || check.text.contains("lock"))
}

/// The files that decide, beside the words of a command, whether it keeps to the lockfile.
struct Files<'a> {
    lookups: &'a dyn Lookups,
    /// Answers of files that were asked for a word.
    found: RefCell<BTreeMap<(Side, String, &'static str), bool>>,
}

impl Files<'_> {
    /// Returns the installation of a job that does not keep to the lockfile: one that writes it before another one that
    /// does, as none did before, or the first where no other one does.
    fn loosened<'c, 'n>(
        &self,
        old: &Installations<'_>,
        new: &'n Installations<'c>,
    ) -> Option<&'n (&'c Check, Installation)> {
        let locked = new.iter().position(|(check, own)| self.is_locked(own, Side::Head, check));
        let wrote = old.iter().any(|(_, own)| own.is_locked == Some(false));
        let mut candidates = new[..locked.unwrap_or(new.len())].iter();
        candidates.find(|(check, own)| {
            let counts = locked.is_none() || !wrote && own.is_locked == Some(false);
            counts && self.has_lockfile(own, check)
        })
    }

    /// Returns whether an installation fails where the lockfile does not match.
    fn is_locked(&self, installation: &Installation, side: Side, check: &Check) -> bool {
        let manager = installation.manager;
        installation.is_locked.unwrap_or_else(|| {
            // Its later versions keep to the lockfile in CI.
            let is_later = manager.tool == "yarn"
                && self.has(side, joined(&check.directory, "yarn.lock"), "__metadata:", Asked::Word);
            let mut settings = manager.settings.iter();
            let mut words = manager.locked.iter().filter(|_| installation.is_computed);
            manager.is_locked
                || is_later
                || words.any(|word| {
                    [&check.root, &check.unit.file]
                        .iter()
                        .any(|path| self.has(side, path.to_string(), word, Asked::Word))
                })
                || settings.any(|(file, word)| {
                    let path = match *file {
                        "" => check.root.to_string(),
                        file => joined(&check.directory, file),
                    };
                    self.has(side, path, word, Asked::Setting)
                })
        })
    }

    /// Returns whether a line of a file that is no comment has a word, or sets it to something that is on.
    fn has(&self, side: Side, path: String, word: &'static str, asked: Asked) -> bool {
        let key = (side, path, word);
        if let Some(has) = self.found.borrow().get(&key) {
            return *has;
        }
        let has = self.lookups.text(side, &key.1).is_some_and(|text| {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', '/']));
            let mut behind = lines.filter_map(|line| Some(line.split_once(word)?.1));
            behind.any(|value| asked == Asked::Word || word.starts_with('-') || is_on(value))
        });
        self.found.borrow_mut().insert(key, has);
        has
    }

    /// Returns whether head has a lockfile for an installation, in its directory or above.
    fn has_lockfile(&self, installation: &Installation, check: &Check) -> bool {
        let files = installation.manager.files;
        let mut directory = check.directory.as_str();
        loop {
            if files.iter().any(|name| self.lookups.is_present(Side::Head, &joined(directory, name))) {
                return true;
            }
            match directory.rsplit_once('/') {
                Some((above, _)) => directory = above,
                None if directory.is_empty() => return files.is_empty(),
                None => directory = "",
            }
        }
    }
}

/// The question that a file is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Word,
    Setting,
}

/// Returns whether the text behind the name of a setting switches it on: `: "true"`, `=1`, `>true</RestoreLockedMode>`.
fn is_on(behind: &str) -> bool {
    let value = behind.trim_start_matches([':', '=', '"', '\'', '>', ' ']);
    let word: String = value.chars().take_while(|sign| sign.is_ascii_alphanumeric()).collect();
    matches!(word.to_lowercase().as_str(), "1" | "on" | "true" | "yes")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CI, file, findings, workflow};
    use super::*;

    #[test]
    fn a_setting_excuses_a_command_where_it_is_on() {
        for (step, command, expected) in [
            ("bundle install --frozen", "bundle install", true),
            ("bundle install --frozen", "BUNDLE_FROZEN=true bundle install", false),
            ("bundle install --frozen", "BUNDLE_FROZEN=false bundle install", true),
            ("bundle install --frozen", "bundle install\n      # BUNDLE_FROZEN: true", true),
            ("bundle install --frozen", "bundle config set frozen true && bundle install", false),
            ("bundle install --frozen", "bundle config set frozen false && bundle install", true),
            ("uv sync --locked", "UV_LOCKED=1 uv sync", false),
            ("uv sync --locked", "uv sync && git diff --exit-code", false),
            ("uv sync --locked", "uv sync && git diff --exit-code uv.lock", false),
            ("uv sync --locked", "uv sync && git diff --exit-code docs/", true),
            ("uv sync --locked", "make docs && git diff --exit-code && uv sync", true),
            ("uv sync --locked", "UV_LOCKED=0 uv sync", true),
            ("cargo test --locked", "FLAGS=--locked; cargo test $FLAGS", false),
            ("cargo test --locked", "cargo test $FLAGS", true),
            ("dotnet restore --locked-mode", "dotnet restore -p:RestoreLockedMode=true", false),
            ("dotnet restore --locked-mode", "dotnet restore -p:RestoreLockedMode=false", true),
            (
                "terraform init -lockfile=readonly",
                "TF_CLI_ARGS_init=-lockfile=readonly terraform init",
                false,
            ),
        ] {
            let [base, head] = [step, command].map(|run| workflow(&format!("      - run: {run}\n")));
            let mut files = vec![file(CI, &base, &head)];
            let locks = ["Cargo.lock", "Gemfile.lock", "uv.lock", ".terraform.lock.hcl"];
            files.extend(locks.map(|path| file(path, "version = 4\n", "version = 4\n\n")));
            assert_eq!(!findings(&files).is_empty(), expected, "{step}, {command}");
        }
    }

    #[test]
    fn words_tell_whether_an_installation_keeps_to_the_lockfile() {
        for (command, expected) in [
            ("npm ci", Some(Some(true))),
            ("npm --prefix web ci --ignore-scripts", Some(Some(true))),
            ("npm install", Some(None)),
            ("npm install jest", None),
            ("npm install -g npm", None),
            ("npm test", None),
            ("pnpm install --no-frozen-lockfile", Some(Some(false))),
            ("yarn --frozen-lockfile", Some(Some(true))),
            ("yarn", Some(None)),
            ("yarn test", None),
            ("cargo +nightly test --locked -- --nocapture", Some(Some(true))),
            ("cargo test", Some(None)),
            ("cargo fmt", None),
            ("cargo install cargo-deny --locked", None),
            ("cargo test $FLAGS", Some(None)),
            ("cargo test --target ${{ matrix.target }}", Some(None)),
            ("poetry lock --check", Some(Some(true))),
            ("poetry lock", Some(Some(false))),
            ("uv run --locked pytest", Some(Some(true))),
            ("composer update", Some(Some(false))),
            ("composer require a/b", None),
        ] {
            let found = Installation::new(command).map(|found| found.is_locked);
            assert_eq!(found, expected, "{command}");
        }
    }
}
