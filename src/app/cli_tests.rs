//! Tests of options and time limits of commands.

use super::*;

fn minutes(line: &str) -> u64 {
    let Ok(cli) = Cli::try_parse_from(line.split(' ')) else { panic!("`{line}` is wrong") };
    deadline(&cli.command).as_secs() / 60
}

/// Returns the options and arguments of every command, hidden ones too, as `command --option`.
fn options() -> Vec<String> {
    let command = <Cli as clap::CommandFactory>::command();
    let named = command.get_subcommands().flat_map(|command| {
        command.get_arguments().map(move |argument| {
            let value = argument.get_value_names().and_then(|names| names.first());
            match argument.get_long() {
                Some(long) => format!("{} --{long}", command.get_name()),
                None => format!("{} {}", command.get_name(), value.map_or("", |name| name.as_str())),
            }
        })
    });
    let mut options: Vec<String> = named.collect();
    options.sort();
    options
}

#[test]
fn examples_and_notes_of_the_help_fit_80_columns() {
    let command = <Cli as clap::CommandFactory>::command();
    let commands = std::iter::once(&command).chain(command.get_subcommands());
    let notes = commands.flat_map(|command| [command.get_after_help(), command.get_after_long_help()]);
    let notes = notes.flatten().map(ToString::to_string);
    let wide: Vec<String> = notes
        .flat_map(|notes| notes.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert_eq!(wide, Vec::<String>::new());
}

#[test]
fn the_short_help_of_run_fits_a_screen() {
    let mut command = <Cli as clap::CommandFactory>::command().term_width(80);
    command.build();
    let help = command.find_subcommand_mut("run").unwrap().render_help().to_string();
    let lines: Vec<&str> = help.lines().collect();
    assert!(lines.len() <= 50 && lines.iter().all(|line| line.chars().count() <= 80), "{help}");
    let headings: Vec<&&str> = lines.iter().filter(|line| line.ends_with(':')).collect();
    assert_eq!(headings, [&"Options:", &"Policy:", &"Execution:", &"Output:", &"Models:", &"Examples:"]);
    assert!(lines.last().is_some_and(|line| line.starts_with("  qa-skill run ")), "{help}");
}

/// The tests of the table are looked for in `tests/it/proofs.rs`.
#[test]
#[cfg(target_os = "linux")]
fn every_option_is_in_the_table_of_their_tests() {
    let table = include_str!("../../tests/proofs/options.txt");
    let names = table.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#']));
    assert_eq!(names.collect::<Vec<_>>(), options());
}

#[test]
fn every_command_has_a_time_limit() {
    for command in ["run", "plan", "policy-check", "doctor", "consistency-check", "workflow", "upload ."] {
        assert_eq!(minutes(&format!("qa-skill {command}")), 20, "{command}");
    }
    for command in ["drift-check", "calibrate", "init", "upgrade --from .", "verify ."] {
        assert_eq!(minutes(&format!("qa-skill {command}")), 240, "{command}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_sandboxed_command_adds_its_own_time_to_the_default() {
    assert_eq!(minutes("qa-skill sandbox --timeout 7200 -- true"), 140);
}
