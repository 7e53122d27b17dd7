//! Runs the recipes: each page's policy is put on the base, and its commands run one after the other in one checkout.

use super::{Block, Scratch, blocks, run_bash};
use crate::scratch::project;

/// Returns the pages of recipes, by their paths.
fn recipes() -> Vec<String> {
    let entries = std::fs::read_dir(project().join("docs/recipes")).expect("the folder can be read");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("a plain name")
    };
    let mut pages: Vec<String> = entries.map(|entry| format!("docs/recipes/{}", name(entry))).collect();
    pages.sort();
    pages
}

/// Returns a page's blocks with an info string.
fn blocks_of(page: &str, info: &str) -> Vec<Block> {
    blocks(page).into_iter().filter(|block| block.info == info).collect()
}

#[test]
fn the_commands_and_policies_of_each_recipe_run() {
    let pages = recipes();
    assert!(pages.len() >= 4, "{pages:?}");
    for page in pages {
        let scratch = Scratch::new();
        let policies = blocks_of(&page, "toml policy");
        assert!(policies.len() <= 1, "{page} has one policy at most");
        for policy in policies {
            scratch.commit_on_base(".qa-skill/policy.toml", &policy.text);
            let output = run_bash(&scratch.checkout(), "qa-skill policy-check");
            assert!(output.status.success(), "{page}:{}: {output:#?}", policy.line);
        }
        let commands = blocks_of(&page, "sh");
        assert!(!commands.is_empty(), "{page} has commands");
        for block in commands {
            let output = run_bash(&scratch.checkout(), &block.text);
            assert!(output.status.success(), "{page}:{}: {output:#?}", block.line);
        }
    }
}

#[test]
fn every_block_of_a_recipe_is_run_or_says_why_not() {
    for page in recipes() {
        for block in blocks(&page) {
            let known = ["sh", "sh no-run", "toml policy", "yaml merge-queue"];
            assert!(known.contains(&block.info.as_str()), "{page}:{} is marked `{}`", block.line, block.info);
            let reason = block.text.starts_with("# not run here: ");
            assert_eq!(block.info == "sh no-run", reason, "{page}:{}", block.line);
        }
    }
}

/// Judges the queue's commit of a pull request as a step, and returns the verdict that the summary has.
fn judge_in_queue(scratch: &Scratch, head: &str) -> String {
    let script = format!(
        r#"
        base=$(git rev-parse origin/main)
        head=$(git -c user.name=a -c user.email=a@example.com commit-tree "{head}^{{tree}}" -p origin/main -p "{head}" -m merge)
        ref=refs/heads/gh-readonly-queue/main/pr-1-$base
        cat > ../event.json <<EOF
        {{"action": "checks_requested", "merge_group":
          {{"head_sha": "$head", "head_ref": "$ref", "base_sha": "$base", "base_ref": "refs/heads/main"}}}}
EOF
        rm -f ../summary.md
        env -u SSL_CERT_FILE -u SSL_CERT_DIR \
            GITHUB_ACTIONS=true GITHUB_EVENT_NAME=merge_group GITHUB_EVENT_PATH="$PWD/../event.json" \
            GITHUB_SHA="$head" GITHUB_REF="$ref" GITHUB_WORKSPACE="$PWD" \
            GITHUB_STEP_SUMMARY="$PWD/../summary.md" GITHUB_OUTPUT="$PWD/../output" INPUT_PUBLISH= qa-skill >&2 || true
        head -n 1 ../summary.md
        "#
    );
    let output = run_bash(&scratch.checkout(), &script);
    assert!(output.status.success(), "{output:#?}");
    String::from_utf8(output.stdout).expect("the summary is UTF-8")
}

#[test]
fn the_queues_commit_is_judged_by_the_policy_that_it_lands_on() {
    let scratch = Scratch::new();
    scratch.commit_on_topic("settings.toml", &Scratch::conflict());
    let judged = judge_in_queue(&scratch, "topic");
    assert!(judged.contains("qa-skill: FAIL"), "{judged}");
    let judged = judge_in_queue(&scratch, "topic~1");
    assert!(judged.contains("qa-skill: PASS"), "{judged}");
    // The policy of the entry before it.
    scratch.commit_on_base(".qa-skill/policy.toml", "preset = \"advisory\"\n");
    let judged = judge_in_queue(&scratch, "topic");
    assert!(judged.contains("qa-skill: PASS"), "{judged}");
}
