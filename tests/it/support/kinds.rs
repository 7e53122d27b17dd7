//! Small repositories of many kinds, for what has to work in all of them.

use super::{Files, Repo};

/// A kind of repository, with the words that `init` has to say about it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    files: &'static [(&'static str, &'static str)],
    pub(crate) said: &'static [&'static str],
}

const CI: (&str, &str) = (
    ".github/workflows/ci.yml",
    "on: { push: , merge_group: }\npermissions: {}\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test\n",
);

/// Kinds of repositories by language, manager of packages and CI.
pub(crate) const KINDS: [Kind; 14] = [
    Kind {
        name: "rust",
        files: &[
            ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
            ("src/lib.rs", "#[allow(dead_code)]\nfn one() -> u32 { 1 }\n"),
            CI,
        ],
        said: &["rust 1", "cargo-test", "clippy", "GitHub Actions", "1 of 1 source file silence"],
    },
    Kind {
        name: "python with tox",
        files: &[
            ("tox.ini", "[testenv]\ndeps = pytest\ncommands = pytest\n[pytest]\n"),
            ("pyproject.toml", "[project]\nname = \"a\"\n[tool.ruff]\n"),
            ("src/a.py", "def one():\n    return 1\n"),
            ("tests/test_a.py", "from a import one\n\n\ndef test_one():\n    assert one() == 1\n"),
        ],
        said: &["python 2", "1 test file; pytest, tox", "ruff"],
    },
    Kind {
        name: "python with pytest",
        files: &[
            ("conftest.py", ""),
            ("requirements.txt", "pytest\n"),
            ("a.py", "A = 1\n"),
            (".travis.yml", "language: python\n"),
        ],
        said: &["pytest", "Travis CI"],
    },
    Kind {
        name: "node with npm",
        files: &[
            (
                "package.json",
                "{\"name\": \"a\", \"devDependencies\": {\"jest\": \"^30\", \"eslint\": \"^10\"}}\n",
            ),
            ("package-lock.json", "{\"lockfileVersion\": 3}\n"),
            ("eslint.config.js", "export default [];\n"),
            ("src/a.js", "export const a = 1;\n"),
        ],
        said: &["javascript 2", "jest", "eslint"],
    },
    Kind {
        name: "node with pnpm",
        files: &[
            (
                "package.json",
                "{\"name\": \"a\", \"devDependencies\": {\"vitest\": \"^4\", \"typescript\": \"^7\"}}\n",
            ),
            ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n"),
            ("tsconfig.json", "{}\n"),
            ("src/a.ts", "export const a = 1;\n"),
        ],
        said: &["typescript 1", "vitest", "tsc"],
    },
    Kind {
        name: "node with yarn",
        files: &[
            ("package.json", "{\"name\": \"a\", \"devDependencies\": {\"@playwright/test\": \"^1\"}}\n"),
            ("yarn.lock", "# yarn lockfile v1\n"),
            ("playwright.config.ts", "export default {};\n"),
            (".gitlab-ci.yml", "test: { script: [yarn test] }\n"),
        ],
        said: &["playwright", "GitLab CI"],
    },
    Kind {
        name: "go",
        files: &[
            ("go.mod", "module example.com/a\n\ngo 1.25\n"),
            ("a.go", "package a\n"),
            ("a_test.go", "package a\n"),
            (".golangci.yml", "version: \"2\"\n"),
        ],
        said: &["go 2", "go-test", "golangci-lint", "go-vet"],
    },
    Kind {
        name: "java with maven",
        files: &[
            ("pom.xml", "<project/>\n"),
            ("src/main/java/A.java", "class A {}\n"),
            ("src/test/java/ATest.java", "class ATest {}\n"),
            ("Jenkinsfile", "pipeline { agent any }\n"),
        ],
        said: &["java 2", "1 test file; maven", "Jenkins"],
    },
    Kind {
        name: "java with gradle",
        files: &[("build.gradle.kts", "plugins { java }\n"), ("src/main/java/A.java", "class A {}\n")],
        said: &["java 1", "gradle"],
    },
    Kind {
        name: "c#",
        files: &[("App/App.csproj", "<Project/>\n"), ("App/A.cs", "class A { }\n")],
        said: &["c# 1", "dotnet"],
    },
    Kind {
        name: "php",
        files: &[
            ("composer.json", "{\"name\": \"a/a\"}\n"),
            ("phpunit.xml.dist", "<phpunit/>\n"),
            ("phpstan.neon", "parameters: {}\n"),
            ("src/A.php", "<?php\nfinal class A {}\n"),
        ],
        said: &["php 1", "phpunit", "phpstan"],
    },
    Kind {
        name: "ruby",
        files: &[
            ("Gemfile", "source \"https://rubygems.org\"\n"),
            (".rspec", "--format progress\n"),
            (".rubocop.yml", "AllCops: {}\n"),
            ("lib/a.rb", "class A; end\n"),
        ],
        said: &["ruby", "rspec", "rubocop"],
    },
    Kind {
        name: "mixed",
        files: &[
            ("services/a/go.mod", "module example.com/a\n"),
            ("services/a/main.go", "package main\n"),
            ("services/b/Cargo.toml", "[package]\nname = \"b\"\nversion = \"0.1.0\"\n"),
            ("services/b/src/main.rs", "fn main() {}\n"),
            ("web/package.json", "{\"devDependencies\": {\"jest\": \"1\"}}\n"),
            ("web/a.ts", "export const a = 1;\n"),
            ("CODEOWNERS", "* @acme/all\n"),
            CI,
        ],
        said: &["go 1, rust 1, typescript 1", "cargo-test, go-test, jest"],
    },
    Kind {
        name: "documentation",
        files: &[("README.md", "# Notes\n"), ("docs/one.md", "One.\n")],
        said: &["no source files", "none that is known"],
    },
];

impl Kind {
    pub(crate) fn files(&self) -> Files {
        Files::from_texts(self.files)
    }

    /// A repository with two commits on `main`, which is checked out, and its files in the checkout.
    pub(crate) fn repository(&self) -> Repo {
        let repo = Repo::new();
        let first = repo.commit_saying("Begin", repo.tree(&self.files()), &[]);
        let files = self.files().with("NOTES.txt", "Notes.\n");
        let second = repo.commit_saying("Add notes", repo.tree(&files), &[first]);
        repo.reference("refs/heads/main", second);
        repo.git.set_head("refs/heads/main").unwrap();
        for (path, text) in self.files {
            write(&repo, path, text);
        }
        repo
    }
}

/// Writes a file of the checkout.
pub(crate) fn write(repo: &Repo, path: &str, text: &str) {
    let full = repo.path().join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, text).unwrap();
}
