//! Holds the documentation to its word: its commands run, its tables are true, its generated pages are current.

mod examples;
mod generated;
mod other_ci;
mod published;
mod recipes;
mod reference;
mod scratch;
mod site;
mod tables;

use scratch::{Scratch, project, read, run_bash};

/// A fenced block of a page.
struct Block {
    line: usize,
    /// What follows the opening fence: `sh`, `sh no-run`, `toml policy`.
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let text = read(page);
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) {
            let text: String = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```")
                .fold(String::new(), |text, line| text + line + "\n");
            blocks.push(Block { line: index + 1, info: info.to_owned(), text });
        }
    }
    blocks
}

/// Returns the one block of a page with an info string.
fn block(page: &str, info: &str) -> String {
    let mut found: Vec<Block> = blocks(page).into_iter().filter(|block| block.info == info).collect();
    assert_eq!(found.len(), 1, "{page} has one ```{info} block");
    found.remove(0).text
}

/// Pages whose shell blocks are run.
const PAGES_THAT_RUN: &[&str] = &["README.md", "docs/policy.md"];

#[test]
fn every_shell_block_of_the_readme_and_of_the_policy_runs() {
    let mut ran = 0;
    let shell_blocks = PAGES_THAT_RUN.iter().flat_map(|page| blocks(page)).filter(|block| block.info == "sh");
    for block in shell_blocks {
        let scratch = Scratch::new();
        scratch.commit_on_base(".qa-skill/policy.toml", &self::block("docs/policy.md", "toml policy"));
        let staged = "printf 'def width():\n    return 3\n' > width.py && git add width.py";
        assert!(run_bash(&scratch.checkout(), staged).status.success());
        let place = if block.text.starts_with("make ") { project() } else { scratch.checkout() };
        let demo = scratch.path().join("demo");
        let output = run_bash(&place, &format!("export DEMO_DIR='{}'\n{}", demo.display(), block.text));
        assert!(output.status.success(), "{} ended with {output:#?}", block.text);
        ran += 1;
    }
    assert!(ran >= 4, "{ran} blocks run");
}

#[test]
fn a_shell_block_that_does_not_run_says_why() {
    for page in ["README.md", "CONTRIBUTING.md", "SKILL.md", "docs/policy.md"] {
        for block in blocks(page) {
            let known = ["sh", "sh no-run"].contains(&block.info.as_str()) || !block.info.starts_with("sh");
            assert!(known, "{page}:{} is marked `{}`", block.line, block.info);
            if block.info == "sh no-run" {
                let reason = block.text.lines().next().is_some_and(|line| line.starts_with("# not run "));
                assert!(reason, "{page}:{} begins with `# not run …`", block.line);
            }
        }
    }
}

#[test]
fn the_commands_of_the_skill_run() {
    for block in blocks("SKILL.md").iter().filter(|block| block.info == "sh") {
        let scratch = Scratch::new();
        let output = run_bash(&scratch.checkout(), &block.text);
        assert!(output.status.success(), "SKILL.md:{} ended with {output:#?}", block.line);
    }
}

/// Names of inputs that a workflow gives to a step, written as `with: { name: value, … }`.
fn inputs_after<'a>(workflow: &'a str, step: &str) -> Vec<&'a str> {
    let (_, after) = workflow.split_once(step).expect("the workflow has the step");
    let of_this = after.split("- uses:").next().unwrap_or("");
    let given = of_this.split_once("with: {").map_or("", |(_, rest)| rest.split('}').next().unwrap_or(""));
    given.split(',').filter_map(|pair| pair.split_once(':')).map(|(name, _)| name.trim()).collect()
}

#[test]
fn the_workflows_of_the_documentation_use_the_action_as_it_is() {
    let action = read("action.yml");
    let pages = [
        "README.md",
        "docs/action.md",
        "docs/attestation.md",
        "docs/forks.md",
        "docs/gates-ci.md",
        "docs/observer.md",
        "docs/recipes/merge-queue.md",
    ];
    // A deployment runs another workflow's verdict and not the program.
    let workflows = pages
        .iter()
        .flat_map(|page| blocks(page))
        .filter(|block| block.info.starts_with("yaml") && block.info != "yaml deploy");
    let mut inputs = Vec::new();
    let mut found = 0;
    for Block { text, .. } in workflows {
        let step = ["uses: OWNER/qa-skill@COMMIT", "uses: docker://ghcr.io/OWNER/qa-skill@DIGEST", "INPUT_"]
            .into_iter()
            .find(|step| text.contains(step))
            .expect("a workflow runs the program");
        if step == "INPUT_" {
            let names = text.split(step).skip(1).filter_map(|rest| rest.split(':').next());
            inputs.extend(names.map(|name| name.to_lowercase().replace('_', "-")));
        } else {
            assert_eq!(text.matches(step).count(), 1, "{text}");
            inputs.extend(inputs_after(&text, step).into_iter().map(str::to_owned));
        }
        found += 1;
    }
    assert_eq!(found, 11);
    assert!(inputs.len() >= 3, "{inputs:?}");
    for input in inputs {
        assert!(action.contains(&format!("\n  {input}:\n")), "action.yml has no input `{input}`");
    }
}

#[test]
fn the_workflows_that_init_writes_are_those_of_the_documentation() {
    let scratch = Scratch::new();
    let pin = format!("acme/qa-skill@{}", "1".repeat(40));
    let output = run_bash(&scratch.checkout(), &format!("qa-skill init --yes --uses {pin}"));
    assert!(output.status.success(), "{output:#?}");
    for (page, info, file) in
        [("README.md", "yaml", "qa-skill.yml"), ("docs/action.md", "yaml drift", "qa-skill-nightly.yml")]
    {
        let written = scratch.checkout().join(".github/workflows").join(file);
        let written = std::fs::read_to_string(written).expect("init wrote the workflow");
        let (_, written) = written.split_once('\n').expect("the first line says who wrote it");
        let documented = block(page, info).lines().fold(String::new(), |text, line| {
            let line = match line.split_once("OWNER/qa-skill@COMMIT") {
                Some((before, _)) => format!("{before}{pin}"),
                None => line.to_owned(),
            };
            text + &line + "\n"
        });
        assert_eq!(written, documented, "{page}");
    }
}

/// Compares the documented job that signs with the one of this repository.
#[test]
fn statements_of_this_repository_are_signed_as_the_documentation_says() {
    let page = block("docs/attestation.md", "yaml");
    let own = read(".github/workflows/self-check.yml");
    let signing = |text: &str| -> Vec<String> {
        let (_, steps) = text.split_once("  sign:\n").expect("a job signs");
        let lines = steps.lines().map(str::trim);
        lines
            .filter(|line| {
                ["cp ", "jq ", "uses:", "subject", "predicate"]
                    .iter()
                    .any(|start| line.trim_start_matches("- ").starts_with(start))
            })
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(signing(&page), signing(&own));
    assert_eq!(signing(&page).len(), 7, "{:?}", signing(&page));
}

#[test]
fn the_event_of_the_readmes_workflow_is_judged_as_a_step() {
    let scratch = Scratch::new();
    let script = r#"
        cat > ../event.json <<EOF
        {"action": "opened", "number": 1, "pull_request": {"number": 1,
          "head": {"sha": "$(git rev-parse topic)", "repo": {"id": 1}},
          "base": {"sha": "$(git rev-parse origin/main)", "ref": "main", "repo": {"id": 1}}}}
EOF
        merge=$(git -c user.name=a -c user.email=a@example.com commit-tree topic^{tree} -p origin/main -p topic -m merge)
        env -u SSL_CERT_FILE -u SSL_CERT_DIR \
            GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request GITHUB_EVENT_PATH="$PWD/../event.json" \
            GITHUB_BASE_REF=main GITHUB_SHA="$merge" GITHUB_REF=refs/pull/1/merge GITHUB_WORKSPACE="$PWD" \
            GITHUB_STEP_SUMMARY="$PWD/../summary.md" GITHUB_OUTPUT="$PWD/../output" INPUT_PUBLISH= qa-skill
    "#;
    let output = run_bash(&scratch.checkout(), script);
    assert!(output.status.success(), "{output:#?}");
    let summary = std::fs::read_to_string(scratch.path().join("summary.md")).expect("a summary was written");
    assert!(summary.contains("qa-skill: PASS"), "{summary}");
}

#[test]
fn the_waiver_of_the_policy_page_lets_a_finding_stand() {
    let scratch = Scratch::new();
    scratch.commit_on_topic("settings.toml", &Scratch::conflict());
    let judged = run_bash(&scratch.checkout(), "qa-skill run --format json");
    assert_eq!(judged.status.code(), Some(1), "{judged:#?}");
    let result: serde_json::Value = serde_json::from_slice(&judged.stdout).expect("one JSON document");
    let finding = &result["finalVerdict"]["blockingFindings"][0];
    let text = |member: &str| finding[member].as_str().expect("a text").to_owned();

    let example = block("docs/policy.md", "toml waiver");
    let line = |name: &str| {
        let line = example.lines().find(|line| line.starts_with(&format!("{name} ="))).expect("the member");
        line.split('"').nth(1).expect("a value in quotes").to_owned()
    };
    let waiver = example
        .replace(&line("rule"), &text("ruleId"))
        .replace(&line("evidence-hash"), &text("evidenceHash"));
    scratch.commit_on_base(".qa-skill/waivers.toml", &waiver);
    let judged = run_bash(&scratch.checkout(), "qa-skill run");
    assert!(judged.status.success(), "{judged:#?}");
}

#[test]
fn the_example_policy_is_accepted() {
    let scratch = Scratch::new();
    let example = project().join("docs/policy.example.toml");
    let command = format!("qa-skill policy-check --file '{}'", example.display());
    let output = run_bash(&scratch.checkout(), &command);
    assert!(output.status.success(), "{output:#?}");
}

#[test]
fn the_policies_of_the_pages_are_accepted() {
    let mut found = 0;
    let pages = ["policy", "gates", "gates-ci", "models", "observer", "reviews"];
    for block in pages.iter().flat_map(|page| blocks(&format!("docs/{page}.md"))) {
        if ["toml", "toml review"].contains(&block.info.as_str()) {
            let scratch = Scratch::new();
            std::fs::write(scratch.path().join("policy.toml"), &block.text).expect("the file can be written");
            let output = run_bash(&scratch.checkout(), "qa-skill policy-check --file ../policy.toml");
            assert!(output.status.success(), "{}{output:#?}", block.text);
            found += 1;
        }
    }
    assert!(found >= 6, "{found}");
}

#[test]
fn the_example_policy_names_every_setting() {
    let example = read("docs/policy.example.toml");
    let schema = qa_contracts::schema::find("policy.v1").expect("the policy has a schema");
    let schema: serde_json::Value = serde_json::from_str(schema.text).expect("a schema is JSON");
    let mut names: Vec<String> = Vec::new();
    let members = schema["$defs"].as_object().into_iter().flat_map(serde_json::Map::values).chain([&schema]);
    for member in members {
        names.extend(member["properties"].as_object().into_iter().flat_map(|map| map.keys().cloned()));
    }
    for name in names {
        let shown = example.lines().any(|line| {
            line.starts_with(&format!("{name} =")) || line.starts_with('[') && line.contains(name.as_str())
        });
        assert!(shown, "docs/policy.example.toml does not show `{name}`");
    }
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut pages = vec![
        "README.md".to_owned(),
        "AGENTS.md".to_owned(),
        "ARCHITECTURE.md".to_owned(),
        "CONTRIBUTING.md".to_owned(),
        "CHANGELOG.md".to_owned(),
        "SECURITY.md".to_owned(),
        "SKILL.md".to_owned(),
        "evaluation/README.md".to_owned(),
    ];
    let docs = std::fs::read_dir(project().join("docs")).expect("docs/ can be read");
    let docs = docs.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"));
    pages.extend(docs.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")));
    for page in &pages {
        for target in read(page).split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let target = target.0.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let folder = project().join(page).parent().expect("a page is in a folder").to_owned();
            assert!(folder.join(target).exists(), "{page} links to {target}");
        }
    }
    let readme = read("README.md");
    for page in pages.iter().filter(|page| *page != "README.md") {
        assert!(readme.contains(&format!("]({page})")), "README.md links to {page}");
    }
}
