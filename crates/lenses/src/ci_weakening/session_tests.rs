//! Holds the lens to checks that move to sessions of nox and to commands of a project, some of which may not run them.

use super::tests::{CI, file, findings, workflow};

/// Returns whether a check of CI is weaker where a call and a file take its place.
fn is_weaker(call: &str, path: &str, text: &str) -> bool {
    let [base, head] = ["pytest -q", call].map(|run| workflow(&format!("      - run: {run}\n")));
    !findings(&[file(CI, &base, &head), file(path, "# Nothing yet.\n", text)]).is_empty()
}

#[test]
fn a_session_takes_the_place_of_a_check_where_it_is_sure_to_run_it() {
    let run = "session.run(\"pytest\", \"-q\")";
    let plain = format!("    {run}\n");
    for (call, body, expected) in [
        ("nox -s tests", plain.clone(), false),
        ("nox", plain.clone(), false),
        ("nox --session=tests", plain.clone(), false),
        ("python -m nox -s tests-3.12 -r", plain.clone(), false),
        ("nox -s tests -- -v", plain.clone(), false),
        ("nox -s tests", format!("    session.install(\"pytest\")\n    # First.\n    {run}\n"), false),
        ("nox -s tests", "    session.run(\"pytest\", \"-q\", *session.posargs)\n".to_owned(), false),
        ("nox -s tests", "    session.run(\"pytest\", \"-q\", success_codes=[0])\n".to_owned(), false),
        ("nox -s tests", format!("    session.log(\"no skip, no return here\")\n    {run}\n"), false),
        ("nox -s docs", plain.clone(), true),
        ("NOXSESSION=tests nox --session docs", plain.clone(), true),
        ("nox -k tests", plain.clone(), true),
        ("nox -l", plain.clone(), true),
        ("nox -s tests --install-only", plain.clone(), true),
        ("nox -f docs/noxfile.py -s tests", plain.clone(), true),
        ("nox -s $SESSION", plain.clone(), true),
        ("NOXSESSION=docs nox", plain.clone(), true),
        ("nox -s tests -- -k smoke", plain.clone(), true),
        ("nox -s tests -- tests/test_a.py", plain.clone(), true),
        ("nox -s tests", format!("    if session.posargs:\n        {run}\n"), true),
        ("nox -s tests", format!("    session.skip(\"later\")\n    {run}\n"), true),
        ("nox -s tests", format!("    if CI: return\n    {run}\n"), true),
        ("nox -s tests", format!("    for _ in []:\n        {run}\n"), true),
        ("nox -s tests", format!("    try:\n        {run}\n    except Exception:\n        pass\n"), true),
        ("nox -s tests", format!("    def go():\n        {run}\n"), true),
        ("nox -s tests", format!("    yield {run}\n"), true),
        ("nox -s tests", format!("    RUN and {run}\n"), true),
        ("nox -s tests", format!("    \"\"\"\n    {run}\n    \"\"\"\n    session.log(\"done\")\n"), true),
        ("nox -s tests", format!("    print('{run}')\n"), true),
        ("nox -s tests", format!("    session.run = print\n    {run}\n"), true),
        ("nox -s tests", format!("    setattr(session, \"run\", print)\n    {run}\n"), true),
        ("nox -s tests", format!("    session, own = Fake(), session\n    {run}\n"), true),
        ("nox -s tests", format!("{plain}\n\nos.environ[\"PYTEST_ADDOPTS\"] = \"--co\"\n"), true),
        ("nox -s tests", format!("{plain}\n\nsys.exit(0)\n"), true),
        ("nox -s tests", format!("    session.chdir(\"docs\")\n    {run}\n"), true),
        ("nox -s tests", "    session.run(\"pytest\", \"-q\", *FLAGS)\n".to_owned(), true),
        ("nox -s tests", "    session.run(\"pytest\", \"-q\", success_codes=range(6))\n".to_owned(), true),
        (
            "nox -s tests",
            "    session.run(\"pytest\", \"-q\", env={\"PYTEST_ADDOPTS\": \"--co\"})\n".to_owned(),
            true,
        ),
        ("nox -s tests", format!("    session.env[\"UPDATE_GOLDEN\"] = \"1\"\n    {run}\n"), true),
        ("nox -s tests", "    run_tests(session)\n".to_owned(), true),
        (
            "nox -s tests",
            format!("{plain}\n\n@nox.session\ndef tests(session):\n    session.log(\"done\")\n"),
            true,
        ),
    ] {
        let text = format!("import nox\n\n\n@nox.session\ndef tests(session):\n{body}");
        assert_eq!(is_weaker(call, "noxfile.py", &text), expected, "{call}\n{text}");
    }
}

#[test]
fn a_command_of_the_project_takes_the_place_of_a_check_where_nothing_changes_what_it_does() {
    for (call, text, expected) in [
        ("poe unit", "[tool.poe.tasks]\nunit = \"pytest -q\"\n", false),
        (
            "uv run poe all",
            "[tool.poe.tasks]\nall = [\"unit\"]\nunit = { cmd = \"pytest -q\", help = \"Tests.\" }\n",
            false,
        ),
        ("pdm run unit", "[tool.pdm.scripts]\nunit = { cmd = \"pytest -q\" }\n", false),
        ("hatch run unit", "[tool.hatch.envs.default.scripts]\nunit = \"pytest -q {args}\"\n", false),
        (
            "hatch run test:unit",
            "[tool.hatch.envs.test]\npython = \"3.12\"\nscripts.unit = \"pytest -q\"\n",
            false,
        ),
        ("poe --dry-run unit", "[tool.poe.tasks]\nunit = \"pytest -q\"\n", true),
        ("uv run --directory docs poe unit", "[tool.poe.tasks]\nunit = \"pytest -q\"\n", true),
        ("poe unit -k smoke", "[tool.poe.tasks]\nunit = \"pytest -q\"\n", true),
        ("poe unit", "[tool.poe]\nenv.PYTEST_ADDOPTS = \"--co\"\ntasks.unit = \"pytest -q\"\n", true),
        ("poe unit", "[tool.poe.tasks]\nunit = { cmd = \"pytest -q\", ignore_fail = true }\n", true),
        ("poe unit", "[tool.poe.tasks]\nunit = { cmd = \"pytest -q\", cwd = \"docs\" }\n", true),
        ("poe unit", "[tool.poe.tasks]\nunit = { ref = \"other\" }\n", true),
        ("pdm run unit", "[tool.pdm.scripts]\n_.env_file = \".env\"\nunit = \"pytest -q\"\n", true),
        ("hatch run unit", "[tool.hatch.envs.default.scripts]\nunit = \"- pytest -q\"\n", true),
        (
            "hatch run unit",
            "[tool.hatch.envs.default.scripts]\nunit = \"pytest -q {args:tests/unit}\"\n",
            true,
        ),
        ("hatch run unit", "[tool.hatch.envs.default.scripts]\nunit = \"{env:RUN:echo} pytest -q\"\n", true),
        (
            "hatch run unit",
            "[tool.hatch.envs.default]\nscripts.unit = \"pytest -q\"\noverrides.env.CI.scripts = [\"unit=true\"]\n",
            true,
        ),
        ("HATCH_ENV=docs hatch run unit", "[tool.hatch.envs.default.scripts]\nunit = \"pytest -q\"\n", true),
    ] {
        assert_eq!(is_weaker(call, "pyproject.toml", text), expected, "{call}\n{text}");
    }
}

#[test]
fn a_program_behind_a_runner_is_no_command_of_the_project() {
    let mypy = ["mypy src", "pdm run mypy src", "hatch run mypy src", "echo done"];
    for (base, head, expected) in [
        (mypy[0], mypy[1], false),
        (mypy[0], mypy[2], false),
        (mypy[1], mypy[2], false),
        (mypy[1], mypy[3], true),
        (mypy[2], mypy[3], true),
    ] {
        let [base, head] = [base, head].map(|run| workflow(&format!("      - run: {run}\n")));
        assert_eq!(!findings(&[file(CI, &base, &head)]).is_empty(), expected, "{base}{head}");
    }
}

#[test]
fn what_a_session_gets_is_compared_with_what_it_got() {
    let text =
        "import nox\n\n\n@nox.session\ndef tests(session):\n    session.run(\"pytest\", *session.posargs)\n";
    let calls = ["nox -s tests -- tests/unit", "nox -s tests -- tests/unit -v", "nox -s tests", "echo done"];
    for (base, head, expected) in [
        (calls[0], calls[1], false),
        (calls[0], calls[2], false),
        (calls[2], calls[0], true),
        (calls[0], calls[3], true),
    ] {
        let [base, head] = [base, head].map(|run| workflow(&format!("      - run: {run}\n")));
        let files = [file(CI, &base, &head), file("noxfile.py", text, &format!("{text}\n"))];
        assert_eq!(!findings(&files).is_empty(), expected, "{base}{head}");
    }
}

#[test]
fn a_session_may_branch_and_loop_over_what_it_ran_before() {
    let session = |body: &str| format!("import nox\n\n\n@nox.session\ndef tests(session):\n{body}");
    let run = "session.run(\"pytest\", \"-q\")";
    let base = session(&format!("    {run}\n"));
    for (body, expected) in [
        (format!("    try:\n        {run}\n    finally:\n        session.notify(\"docs\")\n"), false),
        (
            "    for db in DATABASES:\n        session.run(\"pytest\", \"-q\", env={\"DB\": db})\n"
                .to_owned(),
            false,
        ),
        (
            "    args = session.posargs or [\"tests\"]\n    session.run(\"pytest\", \"-q\", *args)\n"
                .to_owned(),
            false,
        ),
        ("    print(session)\n".to_owned(), true),
        ("    session.run(\"pytest\", \"-q\", \"-k\", \"smoke\")\n".to_owned(), true),
        ("    session.run(\"pytest\", \"-q\", success_codes=[0, 1])\n".to_owned(), true),
    ] {
        let ci = workflow("      - run: nox -s tests\n");
        let files = [file(CI, &ci, &ci), file("noxfile.py", &base, &session(&body))];
        assert_eq!(!findings(&files).is_empty(), expected, "{body}");
    }
}
