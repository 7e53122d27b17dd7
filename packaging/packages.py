#!/usr/bin/env python3
"""Makes packages for npm, pip and Homebrew of the archives of a release.

`packaging/packages.py VERSION URL DIRECTORY` takes DIRECTORY/qa-skill-TARGET.tar.gz for each system and leaves beside them an
archive for npm with the launcher and one for each system, a wheel for each system, and a formula for Homebrew that
downloads the archives from URL. The same archives give the same bytes. docs/releasing.md says how they are published.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import sys
import tarfile
import time
import zipfile

# By the target: names of node's platform and architecture, and the systems of a wheel. The program for Linux is static, so
# that it runs with any C library.
SYSTEMS = {
    "aarch64-apple-darwin": ("darwin", "arm64", ["macosx_11_0_arm64"]),
    "aarch64-pc-windows-msvc": ("win32", "arm64", ["win_arm64"]),
    "aarch64-unknown-linux-musl": ("linux", "arm64", ["manylinux2014_aarch64", "musllinux_1_1_aarch64"]),
    "x86_64-apple-darwin": ("darwin", "x64", ["macosx_10_12_x86_64"]),
    "x86_64-pc-windows-msvc": ("win32", "x64", ["win_amd64"]),
    "x86_64-unknown-linux-musl": ("linux", "x64", ["manylinux2014_x86_64", "musllinux_1_1_x86_64"]),
}
SUMMARY = "A deterministic pull-request gate whose verdict can be replayed byte for byte"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]
# Exit code 3 says that nothing was judged.
LAUNCHER = """#!/usr/bin/env node
"use strict";
const { spawnSync } = require("node:child_process");

function fail(reason) {
  console.error(`qa-skill: ${reason}`);
  process.exit(3);
}

const name = `@SCOPE/qa-skill-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/qa-skill${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  fail(`${name} is not installed. Where there is a package for this system, install without --omit=optional.`);
}
const { error, signal, status } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) fail(error.message);
if (signal) {
  process.kill(process.pid, signal);
  fail(`the program ended by ${signal}`);
}
process.exit(status);
"""


def program_name(target):
    return "qa-skill.exe" if "-windows-" in target else "qa-skill"


def archived(path, target):
    """Returns the files of the archive for a system by their names in it."""
    with tarfile.open(path) as archive:
        files = {}
        for member in archive.getmembers():
            if member.isfile():
                name = member.name.removeprefix(f"qa-skill-{target}/")
                files[name] = archive.extractfile(member).read()
    for name in [program_name(target), "README.md", *LICENCES]:
        if name not in files:
            sys.exit(f"packages: {path} has no {name}")
    return files


def write_npm(path, files, executable, epoch):
    """Writes an archive of npm: everything below package/."""
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in sorted(files.items()):
                member = tarfile.TarInfo(f"package/{name}")
                member.size, member.mtime = len(data), epoch
                member.mode = 0o755 if name == executable else 0o644
                archive.addfile(member, io.BytesIO(data))


def write_wheel(path, files, executable, epoch):
    """Writes a wheel, and the list of its files with their digests."""
    record = path_of_info(path) + "/RECORD"
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files = {**files, record: "".join([*lines, f"{record},,\n"]).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            # The format of zip begins with 1980.
            entry = zipfile.ZipInfo(name, max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0)))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name == executable else 0o100644) << 16
            wheel.writestr(entry, data)


def path_of_info(path):
    return "-".join(path.name.split("-")[:2]) + ".dist-info"


class Release:
    """Packages of one version."""

    def __init__(self, version, url, directory):
        self.version, self.url, self.directory = version, url, pathlib.Path(directory)
        self.home, found, _ = url.partition("/releases/download/")
        owner = re.fullmatch(r"https?://.*/([^/]+)/[^/]+", self.home)
        if not found or not owner:
            sys.exit(f"packages: {url} is not where a release of a repository has its files")
        self.scope = owner[1].lower()
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def archive(self, target):
        return self.directory / f"qa-skill-{target}.tar.gz"

    def manifest(self, name, **members):
        manifest = {
            "name": name,
            "version": self.version,
            "description": SUMMARY,
            "license": "(MIT OR Apache-2.0)",
            "repository": {"type": "git", "url": f"git+{self.home}.git"},
            **members,
        }
        return (json.dumps(manifest, indent=2) + "\n").encode()

    def npm_name(self, target):
        platform, architecture, _ = SYSTEMS[target]
        return f"@{self.scope}/qa-skill-{platform}-{architecture}"

    def npm_path(self, name):
        return self.directory / f"npm-{name.partition('/')[2]}-{self.version}.tgz"

    def write_system(self, target):
        """Writes the packages for one system."""
        files = archived(self.archive(target), target)
        platform, architecture, tags = SYSTEMS[target]
        program = program_name(target)
        shared = {name: files[name] for name in ["README.md", *LICENCES]}
        name = self.npm_name(target)
        manifest = self.manifest(name, os=[platform], cpu=[architecture], preferUnplugged=True)
        npm = {**shared, program: files[program], "package.json": manifest}
        write_npm(self.npm_path(name), npm, program, self.epoch)

        path = self.directory / f"qa_skill-{self.version}-py3-none-{'.'.join(tags)}.whl"
        info = path_of_info(path)
        script = f"{info.removesuffix('.dist-info')}.data/scripts/{program}"
        fields = ["Metadata-Version: 2.4", "Name: qa-skill", f"Version: {self.version}", f"Summary: {SUMMARY}"]
        fields += ["License-Expression: MIT OR Apache-2.0", *(f"License-File: {name}" for name in LICENCES)]
        fields += ["Requires-Python: >=3.8", f"Project-URL: Source, {self.home}"]
        fields += ["Description-Content-Type: text/markdown", "", files["README.md"].decode()]
        kind = ["Wheel-Version: 1.0", "Generator: qa-skill", "Root-Is-Purelib: false"]
        kind += [f"Tag: py3-none-{tag}" for tag in tags]
        wheel = {
            script: files[program],
            **{f"{info}/licenses/{name}": files[name] for name in LICENCES},
            f"{info}/METADATA": "\n".join(fields).encode(),
            f"{info}/WHEEL": ("\n".join(kind) + "\n").encode(),
        }
        write_wheel(path, wheel, script, self.epoch)
        return shared

    def write_launcher(self, shared):
        """Writes the package of npm that people install, which brings that of their system."""
        manifest = self.manifest(
            f"@{self.scope}/qa-skill",
            bin={"qa-skill": "bin/qa-skill.js"},
            engines={"node": ">=18"},
            optionalDependencies={self.npm_name(target): self.version for target in SYSTEMS},
        )
        launcher = LAUNCHER.replace("SCOPE", self.scope).encode()
        files = {**shared, "bin/qa-skill.js": launcher, "package.json": manifest}
        write_npm(self.npm_path("/qa-skill"), files, "bin/qa-skill.js", self.epoch)

    def write_formula(self):
        """Writes the formula of Homebrew, whose archives are those of the release."""

        def source(target):
            path = self.archive(target)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            return f'      url "{self.url}/{path.name}"\n      sha256 "{digest}"\n'

        def system(name, arm, intel):
            return (
                f"  on_{name} do\n    on_arm do\n{source(arm)}    end\n"
                f"    on_intel do\n{source(intel)}    end\n  end\n\n"
            )

        formula = (
            "class QaSkill < Formula\n"
            f'  desc "{SUMMARY.removeprefix("A ").capitalize()}"\n'
            f'  homepage "{self.home}"\n  version "{self.version}"\n'
            '  license any_of: ["MIT", "Apache-2.0"]\n\n'
            + system("macos", "aarch64-apple-darwin", "x86_64-apple-darwin")
            + system("linux", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl")
            + '  def install\n    bin.install "qa-skill"\n    man1.install "man/qa-skill.1"\n'
            '    bash_completion.install "completions/qa-skill.bash" => "qa-skill"\n'
            '    fish_completion.install "completions/qa-skill.fish"\n'
            '    zsh_completion.install "completions/qa-skill.zsh" => "_qa-skill"\n  end\n\n'
            '  test do\n    assert_match "qa-skill #{version} ", shell_output("#{bin}/qa-skill --version")\n'
            "  end\nend\n"
        )
        (self.directory / "qa-skill.rb").write_text(formula)


def main():
    if len(sys.argv) != 4:
        sys.exit("packages: usage: packages.py VERSION URL DIRECTORY")
    release = Release(*sys.argv[1:])
    for target in SYSTEMS:
        shared = release.write_system(target)
    release.write_launcher(shared)
    release.write_formula()


if __name__ == "__main__":
    main()
