//! Tests the plan for the files of a repository, by the files that it has and the options.

use super::plan::{ActionSource, Checkout, Forge, Plan, PlanError, Step, Wishes, WorkingFile, plan};
use qa_contracts::v1::Preset;
use qa_core::policy::POLICY_PATH;
use qa_run::setup::{ActionPin, workflow_use};

const SHA: &str = "3d3c42e5aac5ba805825da76410c181273ba90b1";
const OTHER: &str = "0123456789abcdef0123456789abcdef01234567";
const GATE: &str = ".github/workflows/qa-skill.yml";
const NIGHTLY: &str = ".github/workflows/qa-skill-nightly.yml";
const NUMBERS: &str =
    "of the last 100 merged changes up to 0123456789ab, default would have stopped 0 and guarded 1";

fn pin(commit: &str) -> ActionPin {
    ActionPin::parse(&format!("acme/qa-skill@{commit}")).unwrap()
}

fn wishes(owners: &[String]) -> Wishes<'_> {
    Wishes {
        action: Some(pin(SHA)),
        preset: None,
        proposed: Preset::Guarded,
        numbers: NUMBERS,
        owners,
        nightly: true,
        pre_commit: false,
        force: false,
    }
}

fn planned(checkout: &Checkout, wishes: &Wishes<'_>) -> Result<Plan, PlanError> {
    plan(checkout, wishes, &qa_lenses::registry())
}

fn file(path: &str, text: &str) -> WorkingFile {
    WorkingFile { path: path.to_owned(), text: Some(text.to_owned()) }
}

/// Returns each file as `word path`.
fn steps(plan: &Plan) -> Vec<String> {
    let word = |step: &Step| match step {
        Step::Create { .. } => "new".to_owned(),
        Step::Update { .. } => "changed".to_owned(),
        Step::Unchanged => "unchanged".to_owned(),
        Step::Leave { reason } => format!("left ({reason})"),
        Step::Withhold { .. } => "withheld".to_owned(),
    };
    plan.files.iter().map(|file| format!("{} {}", file.path, word(&file.step))).collect()
}

/// Returns the checkout after a plan was carried out.
fn carried_out(checkout: &Checkout, plan: &Plan) -> Checkout {
    let mut after = checkout.clone();
    for planned in &plan.files {
        let Some(text) = planned.text() else { continue };
        let written = file(&planned.path, text);
        if planned.path == POLICY_PATH {
            after.policy = Some(written);
        } else if planned.path.ends_with("CODEOWNERS") {
            after.codeowners = Some(written);
        } else {
            after.workflows.retain(|file| file.path != planned.path);
            after.workflows.push(written);
            after.workflows.sort_by(|left, right| left.path.cmp(&right.path));
        }
    }
    after
}

fn text_of<'a>(plan: &'a Plan, path: &str) -> &'a str {
    plan.files.iter().find(|file| file.path == path).and_then(|file| file.text()).unwrap()
}

#[test]
fn a_repository_without_anything_gets_all_files_and_a_second_run_changes_nothing() {
    let owners = ["@acme/security".to_owned()];
    let first = planned(&Checkout::default(), &wishes(&owners)).unwrap();
    let names = [GATE, NIGHTLY, POLICY_PATH, ".github/CODEOWNERS"];
    assert_eq!(steps(&first), names.map(|name| format!("{name} new")));
    assert_eq!(first.preset, Preset::Guarded);
    let used = workflow_use(text_of(&first, GATE));
    assert!(used.judges && used.serves_merge_queue && used.action == Some(pin(SHA)));
    assert!(workflow_use(text_of(&first, NIGHTLY)).replays);
    let policy = text_of(&first, POLICY_PATH);
    assert_eq!(
        policy,
        format!(
            "#:schema https://raw.githubusercontent.com/acme/qa-skill/{SHA}/schemas/v1/policy.v1.schema.json\n\
             # Written by qa-skill init, which keeps your edits when it runs again.\n\
             # It is in force once it is on the base branch; `qa-skill policy-check --all` shows every setting.\n\
             version = 1\n\n# Measured by init: {NUMBERS}\npreset = \"guarded\"\n"
        )
    );
    assert_eq!(
        text_of(&first, ".github/CODEOWNERS"),
        "# qa-skill init: begin\n\
         /.qa-skill/ @acme/security\n\
         /.github/   @acme/security\n\
         # qa-skill init: end\n"
    );
    let after = carried_out(&Checkout::default(), &first);
    // A version is written as a comment, and stays where the next run names none.
    let versioned = ActionPin::parse(&format!("acme/qa-skill@{SHA} # v1.0.0")).unwrap();
    let named = planned(&after, &Wishes { action: Some(versioned), ..wishes(&owners) }).unwrap();
    assert!(text_of(&named, GATE).contains(&format!("uses: acme/qa-skill@{SHA} # v1.0.0\n")));
    let kept = planned(&carried_out(&after, &named), &wishes(&owners)).unwrap();
    assert_eq!(steps(&kept), names.map(|name| format!("{name} unchanged")));
    // Other numbers and another proposal are no reason to write.
    for (action, proposed) in [(Some(pin(SHA)), Preset::Guarded), (None, Preset::Advisory)] {
        let again = Wishes { action, proposed, numbers: "of the last 3", ..wishes(&owners) };
        let second = planned(&after, &again).unwrap();
        assert_eq!(steps(&second), names.map(|name| format!("{name} unchanged")));
        assert_eq!(second.preset, Preset::Guarded);
    }
}

#[test]
fn another_commit_of_the_action_is_all_that_an_update_changes() {
    let first = planned(&Checkout::default(), &wishes(&[])).unwrap();
    let mut after = carried_out(&Checkout::default(), &first);
    // Edits of the policy and newer commits of other actions are the person's.
    let newer = format!("uses: actions/checkout@{OTHER} # v9");
    for workflow in &mut after.workflows {
        let text = workflow.text.as_mut().unwrap();
        let line = text.lines().find(|line| line.contains("uses: actions/checkout@")).unwrap().to_owned();
        *text = text.replace(line.split_once("uses: ").unwrap().1, newer.strip_prefix("uses: ").unwrap());
    }
    let policy = after.policy.as_mut().unwrap().text.as_mut().unwrap();
    policy.push_str("# Ours.\n[rules.\"test-weakening/test-skipped\"]\nstrength = \"block\"\n");
    let before = after.clone();
    let newest = Wishes { action: Some(pin(OTHER)), ..wishes(&[]) };
    let second = planned(&after, &newest).unwrap();
    assert_eq!(steps(&second), [GATE, NIGHTLY, POLICY_PATH].map(|name| format!("{name} changed")));
    let after = carried_out(&after, &second);
    for (now, then) in after.workflows.iter().zip(&before.workflows) {
        let expected = then.text.as_ref().unwrap().replace(&pin(SHA).to_string(), &pin(OTHER).to_string());
        assert_eq!(now.text.as_ref().unwrap(), &expected);
    }
    let policy = before.policy.unwrap().text.unwrap().replace(SHA, OTHER);
    assert_eq!(after.policy.unwrap().text.unwrap(), policy);
}

#[test]
fn line_ends_of_a_checkout_stay() {
    let first = planned(&Checkout::default(), &wishes(&[])).unwrap();
    let mut after = carried_out(&Checkout::default(), &first);
    for file in after.workflows.iter_mut().chain(&mut after.policy) {
        file.text = file.text.take().map(|text| text.replace('\n', "\r\n"));
    }
    let again = planned(&after, &wishes(&[])).unwrap();
    assert!(steps(&again).iter().all(|step| step.ends_with(" unchanged")), "{:?}", steps(&again));
    let updated = planned(&after, &Wishes { action: Some(pin(OTHER)), ..wishes(&[]) }).unwrap();
    let text = text_of(&updated, GATE);
    assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());
}

#[test]
fn files_of_others_are_left_refused_or_replaced() {
    let judges = format!("on: pull_request\njobs:\n  a:\n    steps:\n      - uses: acme/qa-skill@{SHA}\n");
    let replays = judges.replace("pull_request", "{ schedule: [{ cron: '1 2 * * *' }] }");
    let none = "on: push\njobs: {}\n";
    let refused = |path: &str| Err(PlanError::NotOurs(path.to_owned()));
    let cases: &[(&str, &str, bool, Result<&str, PlanError>)] = &[
        (
            GATE,
            &judges,
            false,
            Ok("left (it runs the action on pull requests already, and is not marked as written by init)"),
        ),
        (GATE, &judges, true, Ok("changed")),
        (GATE, none, false, refused(GATE)),
        (GATE, none, true, Ok("changed")),
        (
            ".github/workflows/gate.yaml",
            &judges,
            false,
            Ok("left (.github/workflows/gate.yaml runs the action on pull requests already)"),
        ),
        (".github/workflows/ci.yml", none, false, Ok("new")),
        (NIGHTLY, &replays, false, Ok("new")),
        (NIGHTLY, none, false, refused(NIGHTLY)),
    ];
    for (path, text, force, expected) in cases {
        let checkout = Checkout { workflows: vec![file(path, text)], ..Checkout::default() };
        let found = planned(&checkout, &Wishes { force: *force, ..wishes(&[]) });
        let gate = found.as_ref().map(|plan| steps(plan)[0].strip_prefix(GATE).unwrap()[1..].to_owned());
        assert_eq!(gate, expected.as_ref().map(|step| (*step).to_owned()), "{path} {text}");
    }
    let unread = WorkingFile { path: GATE.to_owned(), text: None };
    let checkout = Checkout { workflows: vec![unread], ..Checkout::default() };
    let found = planned(&checkout, &Wishes { force: true, ..wishes(&[]) });
    assert_eq!(found, Err(PlanError::Unreadable(GATE.to_owned())));
}

#[test]
fn the_action_is_named_or_that_of_a_workflow_or_unknown() {
    let unnamed = || Wishes { action: None, ..wishes(&[]) };
    let withheld = |checkout: &Checkout| {
        let found = planned(checkout, &unnamed()).unwrap();
        assert_eq!(steps(&found)[..2], [GATE, NIGHTLY].map(|name| format!("{name} withheld")));
        assert!(found.lacks_action() && found.files[..2].iter().all(|file| file.text().is_none()));
    };
    withheld(&Checkout::default());
    let other = format!("on: push\njobs:\n  a:\n    steps:\n      - uses: acme/qa-skill@{OTHER}\n");
    let checkout = Checkout { workflows: vec![file(NIGHTLY, &other)], ..Checkout::default() };
    let found = planned(&checkout, &Wishes { nightly: false, force: true, ..unnamed() }).unwrap();
    assert!(text_of(&found, GATE).contains(&pin(OTHER).to_string()));
    let source = ActionSource { pin: pin(OTHER), path: NIGHTLY.to_owned() };
    assert_eq!(found.source, Some(source), "the person reads where the commit is from");
    assert_eq!(planned(&checkout, &Wishes { force: true, ..wishes(&[]) }).unwrap().source, None);
    let moving = other.replace(OTHER, "v1");
    withheld(&Checkout { workflows: vec![file(".github/workflows/p.yml", &moving)], ..Checkout::default() });
}

#[test]
fn a_repository_of_gitlab_gets_the_policy_and_owners_where_gitlab_reads_them() {
    let owners = ["@acme/security".to_owned()];
    let gitlab = Checkout { forge: Forge::GitLab, ..Checkout::default() };
    let found = planned(&gitlab, &Wishes { action: None, ..wishes(&owners) }).unwrap();
    assert_eq!(steps(&found), [POLICY_PATH, "CODEOWNERS"].map(|name| format!("{name} new")));
    assert!(!found.lacks_action());
    assert!(text_of(&found, "CODEOWNERS").contains("/.gitlab-ci.yml "), "{found:?}");
}

#[test]
fn a_policy_is_made_stricter_and_never_weaker() {
    let with = |policy: &str, preset: Option<Preset>| {
        let checkout = Checkout { policy: Some(file(POLICY_PATH, policy)), ..Checkout::default() };
        let found = planned(&checkout, &Wishes { preset, nightly: false, ..wishes(&[]) });
        found.map(|plan| (plan.files[1].text().map(str::to_owned), plan.preset))
    };
    let measured = format!("# Measured by init: {NUMBERS}\n");
    let rule = "[rules.\"test-weakening/test-skipped\"]\nstrength = \"off\"\n";
    for (policy, preset, text, in_force) in [
        ("version = 1\n", None, None, Preset::Default),
        ("preset = \"advisory\"\n", None, None, Preset::Advisory),
        ("preset = \"guarded\"\n", Some(Preset::Guarded), None, Preset::Guarded),
        (
            "version = 1\n# Why.\npreset = \"default\" # for now\n",
            Some(Preset::Guarded),
            Some(format!("version = 1\n# Why.\n{measured}preset = \"guarded\" # for now\n")),
            Preset::Guarded,
        ),
        (
            "# Measured by init: of the last 2\npreset = \"advisory\"\n",
            Some(Preset::Default),
            Some(format!("{measured}preset = \"default\"\n")),
            Preset::Default,
        ),
        (
            rule,
            Some(Preset::Guarded),
            Some(format!("{measured}preset = \"guarded\"\n{rule}")),
            Preset::Guarded,
        ),
    ] {
        assert_eq!(with(policy, preset), Ok((text, in_force)), "{policy}");
    }
    assert!(matches!(
        with("preset = \"guarded\"\n", Some(Preset::Default)),
        Err(PlanError::Weakens { preset: "default", settings }) if settings.contains("from")
    ));
    assert!(matches!(with("", Some(Preset::Advisory)), Err(PlanError::Weakens { .. })));
    assert_eq!(with("\"preset\" = \"default\"\n", Some(Preset::Guarded)), Err(PlanError::Unedited));
    assert!(matches!(with("preset = \"strict\"\n", None), Err(PlanError::Policy(_))));
}

#[test]
fn owners_are_those_that_were_named_and_other_rules_stay() {
    let who = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let with = |codeowners: &str, owners: &[String]| {
        let checkout =
            Checkout { codeowners: Some(file("docs/CODEOWNERS", codeowners)), ..Checkout::default() };
        let plan = planned(&checkout, &wishes(owners)).unwrap();
        plan.files.last().unwrap().text().map(str::to_owned)
    };
    let owners = who(&["@acme/security", "sec@example.com"]);
    assert_eq!(with("* @acme/security sec@example.com\n", &owners), None);
    let first = with("* @all", &owners).unwrap();
    assert!(first.starts_with("* @all\n# qa-skill init: begin\n/.qa-skill/ "), "{first}");
    assert!(first.contains("\n/docs/CODEOWNERS "), "{first}");
    assert_eq!(with(&first, &owners), None);
    // Rules that were added behind the block would win, so the block moves to the end.
    let overruled = first.clone() + "/.qa-skill/ @all\n";
    let moved = with(&overruled, &owners).unwrap();
    assert!(moved.starts_with("* @all\n/.qa-skill/ @all\n# qa-skill init: begin\n"), "{moved}");
    // A rule that somebody wrote into the block stays.
    let grown = first.replace("# qa-skill init: end", "/payments/ @money\n# qa-skill init: end");
    let kept = with(&grown, &who(&["@sam"])).unwrap();
    assert!(kept.contains("\n/payments/ @money\n") && kept.contains(" @sam\n"), "{kept}");
    let other = with(&first, &who(&["@sam"])).unwrap();
    assert_eq!(other.matches("# qa-skill init: begin").count(), 1);
    assert!(other.contains(" @sam\n") && !other.contains("@acme"), "{other}");
    // An end without a beginning, and a beginning without an end, are nobody's block.
    for broken in ["# qa-skill init: end\n* @all\n", "# qa-skill init: begin\n* @all\n"] {
        let text = with(broken, &owners).unwrap();
        assert!(text.starts_with(broken), "{text}");
        assert_eq!(with(&text, &owners), None);
        let again = with(&text, &who(&["@sam"])).unwrap();
        assert!(again.starts_with(broken), "{again}");
    }
}
