//! Agents in workflows: programs that act on what they read, with a key, a token and tools beside them.

use qa_reading::documents::{Document, Format, Node};
use qa_reading::shell::{Command, Options, Script, Word};
use qa_reading::workflow::{Expression, ParsedRun, Path, Step, Trigger, Value, Workflow};

use super::actors::{is_asked, is_by_actor, is_vetted, strangers};
use super::known_agents::{ACTIONS, AGENTS, Agent, AgentAction};
use super::{AGENT_OPEN, AGENT_OUTPUT, AGENT_PROMPT, AGENT_TOOLS, Found};
use crate::workflows::chosen::{chosen_source, is_chosen};
use crate::workflows::model::{Group, Model, Scope, action_of, pipelines_of, runs, text_of};

const STARTED: &str = "agent is started by an event that anyone can trigger";
const INSTRUCTED: &str = "untrusted event data is part of an agent's instructions";
const UNRESTRICTED: &str = "agent that reads untrusted text may run any command";

/// Looks at every step that runs an agent, and at what later steps make of its answers.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    let answers = answers(model);
    let events = model.workflow().map(strangers).unwrap_or_default();
    for group in model.groups() {
        let is_vetted = is_vetted(model, &group);
        for step in &group.steps {
            let scope = group.scope(step);
            let audit =
                Audit { events: &events, is_vetted: is_vetted || is_asked(model, step), scope: &scope };
            if let Some(action) = agent_action(step) {
                audit.action(action, step, found);
            }
            if let Some(run) = step.run
                && let Some(parsed) = run.parse()
            {
                audit.script(run.value, &parsed, found);
            }
        }
        executed(&group, &answers, found);
        if let Some(event) = events.first().filter(|_| !is_vetted) {
            merged(&group, event, found);
        }
    }
    if let Model::Agentic(workflow) = model {
        agentic(workflow, found);
    }
}

/// Looks at an agentic workflow: its compiler checks roles and puts the agent into a sandbox, unless it is told not to.
fn agentic(workflow: &Workflow<'_>, found: &mut Vec<Found>) {
    let events = strangers(workflow);
    let Some(event) = events.first() else { return };
    let root = workflow.value;
    let roles = [root.get("on").and_then(|on| on.get("roles")), root.get("roles")];
    if let Some(all) =
        roles.into_iter().flatten().flat_map(Value::scalars).find(|role| is_constant(*role, "all"))
    {
        found.push(Found::new(AGENT_OPEN, all, "roles", STARTED).because([event.name_span]));
    }
    let sandbox = root.get("sandbox");
    let switches = [sandbox, sandbox.and_then(|sandbox| sandbox.get("agent"))];
    if let Some(off) = switches.into_iter().flatten().find(|value| value.flag() == Some(false)) {
        found.push(Found::new(AGENT_TOOLS, off, "sandbox", UNRESTRICTED).because([event.name_span]));
    }
}

fn is_constant(value: Value<'_>, text: &str) -> bool {
    value.constant().as_deref() == Some(text)
}

fn agent_action(step: &Step<'_>) -> Option<&'static AgentAction> {
    let name = action_of(step)?;
    ACTIONS.iter().find(|action| name.eq_ignore_ascii_case(action.name))
}

/// The circumstances of a step.
struct Audit<'a, 'd> {
    /// Events of the workflow that a stranger can cause.
    events: &'a [&'a Trigger<'d>],
    /// True if something asks who caused the event.
    is_vetted: bool,
    scope: &'a Scope<'a, 'd>,
}

impl Audit<'_, '_> {
    fn action(&self, action: &AgentAction, step: &Step<'_>, found: &mut Vec<Found>) {
        let Some(uses) = step.uses else { return };
        let lifted = action.anyone.iter().find_map(|name| {
            let value = step.input(name)?;
            text_of(value).split([',', ' ', '\n']).any(|user| user.trim() == "*").then_some(value)
        });
        let free = unrestricted_input(action, step);
        let has_tools = action.name != "actions/ai-inference" || free.is_some();
        if let Some(value) = lifted {
            let summary = "agent accepts instructions from anyone";
            found.push(Found::new(AGENT_OPEN, value, action.name, summary));
        } else if let Some(event) = self.unvetted()
            && !action.checks_actor
            && has_tools
        {
            found.push(Found::new(AGENT_OPEN, uses, action.name, STARTED).because([event.name_span]));
        }
        let Some(event) = self.events.first() else { return };
        if let Some(value) = free {
            let each = Found::new(AGENT_TOOLS, value, action.name, UNRESTRICTED);
            found.push(each.because([event.name_span]));
        }
        if !self.is_vetted && has_tools {
            let is_checked = action.checks_actor && lifted.is_none();
            for value in action.prompts.iter().filter_map(|name| step.input(name)) {
                self.prompt(value, is_checked, found);
            }
        }
    }

    /// Returns the event by which a stranger starts the step.
    fn unvetted(&self) -> Option<&Trigger<'_>> {
        self.events.first().copied().filter(|_| !self.is_vetted)
    }

    /// Looks at instructions. Where it is checked who acts, what others wrote remains.
    fn prompt(&self, prompt: Value<'_>, is_checked: bool, found: &mut Vec<Found>) {
        let template = prompt.template().unwrap_or_default();
        for embedded in &template.expressions {
            let Some(expression) = &embedded.expression else { continue };
            let Some(path) = chosen_source(expression, self.scope) else { continue };
            let mut events = self.events.iter();
            if let Some(event) = events.find(|event| !is_checked || !is_by_actor(event, &path)) {
                let place = template.place(embedded.span);
                let each = Found::new(AGENT_PROMPT, prompt, path.to_string(), INSTRUCTED).placed_at(place);
                found.push(each.because([event.name_span]));
            }
        }
    }

    /// Looks at agents that a script starts.
    fn script(&self, value: Value<'_>, parsed: &ParsedRun, found: &mut Vec<Found>) {
        let Some(event) = self.events.first() else { return };
        for command in &parsed.script.commands {
            let Some((agent, words)) = started(command) else { continue };
            let mut faults: Vec<(&'static str, String, &'static str)> = Vec::new();
            if !self.is_vetted {
                faults.push((AGENT_OPEN, agent.program.to_owned(), STARTED));
                let mut sources = words.iter().flat_map(|word| self.scope.word_sources(parsed, word));
                if let Some(path) = sources.find(is_chosen) {
                    faults.push((AGENT_PROMPT, path.to_string(), INSTRUCTED));
                }
            }
            if is_unrestricted(agent, words) {
                faults.push((AGENT_TOOLS, agent.program.to_owned(), UNRESTRICTED));
            }
            let place = parsed.template.place(command.span);
            found.extend(faults.into_iter().map(|(rule, subject, summary)| {
                Found::new(rule, value, subject, summary).placed_at(place).because([event.name_span])
            }));
        }
    }
}

/// Returns the agent that a command starts without a person, with the words behind its name.
fn started(command: &Command) -> Option<(&'static Agent, &[Word])> {
    const RUNNERS: &[&str] = &["bun", "bunx", "npm", "npx", "pipx", "pnpm", "pnpx", "uv", "uvx", "yarn"];
    let words = command.effective();
    let program = command.program()?;
    let (name, at) = match program {
        program if RUNNERS.contains(&program) => package(words)?,
        program => (program.to_owned(), 1),
    };
    let agent = AGENTS.iter().find(|agent| agent.program == name || agent.packages.contains(&&*name))?;
    let arguments = words.get(at..)?;
    let is_unattended = arguments
        .iter()
        .any(|word| agent.unattended.contains(&word.text().split('=').next().unwrap_or_default()));
    is_unattended.then_some((agent, arguments))
}

/// Returns the package that a runner of packages starts, without its version, and the position behind it.
fn package(words: &[Word]) -> Option<(String, usize)> {
    const SUBCOMMANDS: &[&str] = &["dlx", "exec", "run", "tool", "x"];
    let mut rest = words.iter().enumerate().skip(1).map(|(at, word)| (at, word.text()));
    let (at, _) = rest.find(|(_, word)| !word.starts_with('-') && !SUBCOMMANDS.contains(word))?;
    let name = words[at].text();
    let end = name.get(1..).and_then(|rest| rest.find('@')).map_or(name.len(), |found| found + 1);
    Some((name[..end].to_owned(), at + 1))
}

/// Returns whether an option lets an agent do anything.
fn is_unrestricted(agent: &Agent, words: &[Word]) -> bool {
    (0..words.len()).any(|at| {
        let word = words[at].text();
        let next = words.get(at + 1).map(Word::text);
        agent.unrestricted.iter().any(|option| match option.split_once(' ') {
            None => word == *option || word.strip_prefix(option) == Some("=true"),
            Some((name, value)) => given(word, next, name) == Some(value),
        }) || agent.tools.iter().any(|option| {
            let rest = words.get(at + 1..).unwrap_or_default().iter().map(Word::text);
            let separate = rest.take_while(|word| !word.starts_with('-')).filter(|_| word == *option);
            let joined = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
            joined.into_iter().chain(separate).any(|list| lists_any_command(agent, list))
        })
    })
}

/// Value of an option that stands behind it or behind `=`.
fn given<'w>(word: &'w str, next: Option<&'w str>, option: &str) -> Option<&'w str> {
    if word == option {
        return next;
    }
    word.strip_prefix(option)?.strip_prefix('=')
}

/// Returns whether a list of tools has the one that runs any command, without a restriction or with one that allows all.
fn lists_any_command(agent: &Agent, list: &str) -> bool {
    let mut depth = 0_usize;
    let tools = list.split(|next: char| {
        match next {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (next == ',' || next.is_whitespace())
    });
    tools.into_iter().any(|tool| is_any_command(agent, tool.trim_matches(['"', '\''])))
}

fn is_any_command(agent: &Agent, tool: &str) -> bool {
    let (name, restriction) = tool.split_once('(').unwrap_or((tool, ")"));
    let allows_all = matches!(restriction.trim_end_matches(')'), "" | "*" | ":*" | "*:*" | "**");
    tool == "*" || !name.is_empty() && name == agent.shell && allows_all
}

/// Returns an input that lets an agent do anything.
fn unrestricted_input<'d>(action: &AgentAction, step: &Step<'d>) -> Option<Value<'d>> {
    for (name, unrestricted) in action.unrestricted {
        if let Some(value) = step.input(name).filter(|value| text_of(*value).trim() == *unrestricted) {
            return Some(value);
        }
    }
    let agent = AGENTS.iter().find(|agent| agent.program == action.program)?;
    for value in action.options.iter().filter_map(|name| step.input(name)) {
        let template = value.template()?;
        let options = Script::parse(&as_words(template.text()), Options::default());
        if options.commands.iter().any(|command| is_unrestricted(agent, &command.words)) {
            return Some(value);
        }
    }
    for value in action.tools.iter().filter_map(|name| step.input(name)) {
        let text = text_of(value);
        let is_free = match text.trim_start().starts_with('{') {
            true => Document::parse(Format::Json, &text)
                .is_ok_and(|settings| settings_allow_any_command(agent, settings.root())),
            false => lists_any_command(agent, &text),
        };
        if is_free {
            return Some(value);
        }
    }
    None
}

/// Returns options as the words of one command: they stand on lines of their own, between comments, or in a list in JSON.
fn as_words(options: &str) -> String {
    if options.trim_start().starts_with('[')
        && let Ok(list) = Document::parse(Format::Json, options)
    {
        let words = list.root().texts().into_iter().map(|word| format!("'{word}'"));
        return words.collect::<Vec<String>>().join(" ");
    }
    let lines = options.lines().map(|line| line.split(" #").next().unwrap_or_default());
    lines.filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<&str>>().join(" ")
}

/// Returns whether settings allow every command, in a list that is not one of what is refused.
fn settings_allow_any_command(agent: &Agent, node: Node<'_>) -> bool {
    const REFUSED: &[&str] = &["ask", "deny", "exclude", "excludeTools", "disallowedTools"];
    if let Some(text) = node.text() {
        return text == "bypassPermissions" || is_any_command(agent, text);
    }
    node.items().any(|item| settings_allow_any_command(agent, item))
        || node
            .entries()
            .any(|entry| !REFUSED.contains(&entry.key) && settings_allow_any_command(agent, entry.value))
}

/// Returns the outputs of steps and of jobs that hold what an agent answered.
fn answers(model: &Model<'_>) -> Vec<Path> {
    let groups = model.groups();
    let mut answers = Vec::new();
    for step in groups.iter().flat_map(|group| &group.steps) {
        let (Some(action), Some(id)) = (agent_action(step), step.id) else { continue };
        let id = text_of(id);
        answers.extend(
            action.outputs.iter().filter_map(|name| output_path(&format!("steps.{id}.outputs.{name}"))),
        );
    }
    let of_jobs = groups
        .iter()
        .filter_map(|group| group.job)
        .flat_map(|job| job.outputs.iter().map(move |it| (job, it)));
    let of_jobs = of_jobs.filter(|(_, output)| {
        let template = output.value.template().unwrap_or_default();
        let mut expressions = template.expressions.iter().filter_map(|each| each.expression.as_ref());
        expressions.any(|expression| holds_answer(expression, &answers))
    });
    let of_jobs: Vec<Path> = of_jobs
        .filter_map(|(job, output)| output_path(&format!("needs.{}.outputs.{}", job.id, output.name)))
        .collect();
    answers.extend(of_jobs);
    answers
}

fn output_path(text: &str) -> Option<Path> {
    let expression = Expression::parse(text)?;
    expression.paths().first().map(|path| (*path).clone())
}

fn holds_answer(expression: &Expression, answers: &[Path]) -> bool {
    expression.sources().into_iter().any(|path| is_answer(path, answers))
}

fn is_answer(path: &Path, answers: &[Path]) -> bool {
    answers.iter().any(|answer| answer.context == path.context && path.segments.starts_with(&answer.segments))
}

/// Finds scripts that run what an agent answered.
fn executed(group: &Group<'_, '_>, answers: &[Path], found: &mut Vec<Found>) {
    if answers.is_empty() {
        return;
    }
    let summary = "output of an agent is run as a script";
    for step in &group.steps {
        let given = step.input("script").filter(|_| step.uses.is_some());
        for script in step.run.map(|run| run.value).into_iter().chain(given) {
            let template = script.template().unwrap_or_default();
            for embedded in &template.expressions {
                let Some(expression) = &embedded.expression else { continue };
                if holds_answer(expression, answers) {
                    let place = template.place(embedded.span);
                    found.push(Found::new(AGENT_OUTPUT, script, "script", summary).placed_at(place));
                }
            }
        }
    }
    for (position, run) in runs(group) {
        let Some(parsed) = run.parse() else { continue };
        let scope = group.scope(group.steps[position]);
        for command in &parsed.script.commands {
            let mut sources =
                evaluated(&parsed, command).into_iter().flat_map(|word| scope.word_sources(&parsed, word));
            if sources.any(|path| is_answer(&path, answers)) {
                let place = parsed.template.place(command.span);
                found.push(Found::new(AGENT_OUTPUT, run.value, "command", summary).placed_at(place));
            }
        }
    }
}

/// Returns the words that a command runs as a program.
fn evaluated<'p>(parsed: &'p ParsedRun, command: &'p Command) -> Vec<&'p Word> {
    const INTERPRETERS: &[&str] = &["bash", "dash", "node", "perl", "python", "python3", "ruby", "sh", "zsh"];
    let Some(program) = command.program() else {
        // The interpreter around it is reported.
        let own = command.interpreted_by.is_none();
        return command.effective().first().filter(|_| own).into_iter().collect();
    };
    if program == "eval" {
        return command.arguments().iter().collect();
    }
    if !INTERPRETERS.contains(&program) {
        return Vec::new();
    }
    let is_given = command.arguments().iter().map(Word::text).any(|word| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.ends_with(['c', 'e']))
    });
    let mut words: Vec<&Word> = command.arguments().iter().filter(|_| is_given).collect();
    words.extend(command.redirections.iter().filter(|own| own.operator == "<<<").map(|own| &own.target));
    let pipelines = pipelines_of(parsed, command);
    let others = parsed.script.commands.iter().filter(|other| other.span != command.span);
    for other in others {
        if pipelines_of(parsed, other).iter().any(|pipeline| pipelines.contains(pipeline)) {
            words.extend(other.arguments());
        }
    }
    words
}

/// Finds a change of an agent beside texts of strangers that the same job merges or approves.
fn merged(group: &Group<'_, '_>, event: &Trigger<'_>, found: &mut Vec<Found>) {
    let first = group.steps.iter().position(|step| {
        agent_action(step).is_some()
            || step
                .run
                .and_then(|run| run.parse())
                .is_some_and(|parsed| parsed.script.commands.iter().any(|command| started(command).is_some()))
    });
    let Some(first) = first else { return };
    for (_, run) in runs(group).filter(|(position, _)| *position >= first) {
        let Some(parsed) = run.parse() else { continue };
        for command in &parsed.script.commands {
            let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
            let lands = match words.as_slice() {
                ["gh", "pr", "merge", ..] => true,
                ["gh", "api", rest @ ..] => rest.iter().any(|word| word.ends_with("/merge")),
                ["gh", "pr", "review", rest @ ..] => rest.contains(&"--approve") || rest.contains(&"-a"),
                ["git", "push", rest @ ..] => rest.iter().any(|word| is_default_branch(word)),
                _ => false,
            };
            if lands {
                let summary = "what an agent did lands without a review";
                let place = parsed.template.place(command.span);
                let each = Found::new(AGENT_OUTPUT, run.value, "lands", summary).placed_at(place);
                found.push(each.because([event.name_span]));
            }
        }
    }
}

fn is_default_branch(reference: &str) -> bool {
    let target = reference.rsplit(':').next().unwrap_or_default();
    matches!(target.trim_start_matches("refs/heads/"), "main" | "master")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(program: &str) -> &'static Agent {
        AGENTS.iter().find(|agent| agent.program == program).unwrap()
    }

    #[test]
    fn every_program_of_an_action_is_an_agent() {
        for action in ACTIONS.iter().filter(|action| !action.program.is_empty()) {
            assert!(AGENTS.iter().any(|agent| agent.program == action.program), "{}", action.name);
        }
    }

    #[test]
    fn a_list_of_tools_allows_any_command_or_some() {
        let cases = [
            ("Bash", true),
            ("Edit,Bash", true),
            ("Edit Bash(*)", true),
            ("Bash(*:*)", true),
            ("Read\nBash\n", true),
            ("\"Bash\"", true),
            ("*", true),
            ("Bash(git diff:*)", false),
            ("Bash(gh pr view:*, gh pr diff:*)", false),
            ("BashOutput", false),
            ("Edit,Read", false),
            ("", false),
        ];
        for (list, expected) in cases {
            assert_eq!(lists_any_command(agent("claude"), list), expected, "{list:?}");
        }
    }

    #[test]
    fn settings_allow_any_command_outside_of_what_they_refuse() {
        let cases = [
            (r#"{"permissions": {"allow": ["Bash"]}}"#, "claude", true),
            (r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#, "claude", true),
            (r#"{"permissions": {"deny": ["Bash"], "allow": ["Read"]}}"#, "claude", false),
            (r#"{"coreTools": ["run_shell_command"]}"#, "gemini", true),
            (r#"{"tools": {"core": ["run_shell_command(gh issue view)"]}}"#, "gemini", false),
            (r#"{"tools": {"exclude": ["run_shell_command"]}}"#, "gemini", false),
        ];
        for (settings, program, expected) in cases {
            let document = Document::parse(Format::Json, settings).unwrap();
            assert_eq!(settings_allow_any_command(agent(program), document.root()), expected, "{settings}");
        }
    }

    #[test]
    fn a_command_starts_an_agent_where_no_person_sits() {
        let cases = [
            ("claude -p 'fix it'", Some("claude"), false),
            (
                "npx -y @anthropic-ai/claude-code@2.1.0 --print x --dangerously-skip-permissions",
                Some("claude"),
                true,
            ),
            ("claude -p x --permission-mode=bypassPermissions", Some("claude"), true),
            ("claude -p x --allowedTools Read Bash", Some("claude"), true),
            ("claude -p x --allowedTools 'Bash(git diff:*)' Read", Some("claude"), false),
            ("codex exec --sandbox danger-full-access x", Some("codex"), true),
            ("codex exec --full-auto x", Some("codex"), false),
            ("npm exec @openai/codex -- exec x", Some("codex"), false),
            ("sudo gemini --yolo --prompt x", Some("gemini"), true),
            ("copilot -p x --allow-all-tools", Some("copilot"), true),
            ("copilot -p x --allow-tool 'shell(git:*)'", Some("copilot"), false),
            ("copilot -p x --allow-tool shell", Some("copilot"), true),
            ("uvx aider-chat --message x", Some("aider"), false),
            ("uv tool run aider-chat --message=x", Some("aider"), false),
            ("pipx run aider-chat -m x", Some("aider"), false),
            ("claude --print='x' --allowedTools=Bash", Some("claude"), true),
            ("codex exec -c sandbox_mode=danger-full-access x", Some("codex"), true),
            ("gemini --yolo=true --prompt=x", Some("gemini"), true),
            ("claude --version", None, false),
            ("npm install @anthropic-ai/claude-code", None, false),
            ("echo claude -p", None, false),
        ];
        for (text, program, is_free) in cases {
            let script = Script::parse(text, Options::default());
            let found = started(&script.commands[0]);
            assert_eq!(found.map(|(agent, _)| agent.program), program, "{text}");
            let free = found.is_some_and(|(agent, words)| is_unrestricted(agent, words));
            assert_eq!(free, is_free, "{text}");
        }
    }
}
