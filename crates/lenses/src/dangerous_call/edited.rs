//! Calls that a change only edits beside what makes them dangerous.

use std::collections::BTreeSet;

use super::{COMMAND, DYNAMIC, HTML, QUERY};
use crate::contract::Draft;
use qa_core::packet::Packet;

/// Rules about values that become part of a text.
const INTERPOLATING: &[&str] = &[COMMAND, DYNAMIC, HTML, QUERY];

/// Leaves out calls on a line of which the change edits only literal text: the interpolated values are the same as before.
pub(super) fn leave_out(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    if drafts.is_empty() {
        return;
    }
    let mut edited: BTreeSet<u64> = BTreeSet::new();
    for hunk in packet.hunks() {
        let before: BTreeSet<String> = hunk.removed().map(|line| skeleton(line.text)).collect();
        let same = hunk.added().filter(|line| before.contains(&skeleton(line.text)));
        edited.extend(same.map(|line| line.number));
    }
    drafts.retain(|draft| {
        let is_one_line = draft.start_line == draft.end_line;
        !(INTERPOLATING.contains(&&*draft.rule) && is_one_line && edited.contains(&draft.start_line))
    });
}

/// Returns a line without white space and the literal text of its strings. Interpolated expressions stay, and so does a line
/// whose strings cannot be told apart, such as one with a quote in a regular expression.
fn skeleton(line: &str) -> String {
    if ["/'", "/\"", "/`"].iter().any(|start| line.contains(start)) {
        return line.to_owned();
    }
    let mut kept = String::with_capacity(line.len());
    let (mut quote, mut depth, mut is_place) = (None, 0_usize, false);
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(_), '\\') => {
                signs.next();
            }
            (Some(own), _) if depth == 0 && sign == own => {
                (quote, is_place) = (None, false);
                kept.push('"');
            }
            (Some(_), '{') => {
                is_place = false;
                depth += 1;
                kept.push(sign);
            }
            (Some(_), '}') => {
                depth = depth.saturating_sub(1);
                kept.push(sign);
            }
            // `$name`, `#name` and `%s` are places as well, to the end of their word.
            (Some(_), '$' | '%' | '#') => {
                kept.push(sign);
                is_place = true;
            }
            (Some(_), _) if depth == 0 && is_place && !sign.is_whitespace() => kept.push(sign),
            (Some(_), _) if depth == 0 && sign.is_whitespace() => is_place = false,
            (Some(_), _) if depth == 0 => {}
            (None, '"' | '\'' | '`') => {
                quote = Some(sign);
                kept.push('"');
            }
            (_, sign) if sign.is_whitespace() => {}
            (_, sign) => kept.push(sign),
        }
    }
    if quote.is_some() { line.to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::skeleton;

    #[test]
    fn only_literal_text_is_left_out() {
        for (one, other, expected) in [
            (r#"os.system(f"ls {name}")"#, r#"os.system(f"ls -l {name}")"#, true),
            (r#"os.system("ls " + name)"#, r#"os.system('rm ' + name)"#, true),
            ("e.innerHTML = `<b>${name}</b>`;", "e.innerHTML = `<i>${name}</i>`;", true),
            (r#"os.system(f"ls {quote(name)}")"#, r#"os.system(f"ls {name}")"#, false),
            (r#"db.execute("a = ?", (name,))"#, r#"db.execute(f"a = {name}")"#, false),
            (r#"db.execute("a = %s", name)"#, r#"db.execute("a = " + name)"#, false),
            ("run(name)", "run(name, shell=True)", false),
            (r#"os.system("ls")"#, r#"os.system("ls $name")"#, false),
            (r#"exec("ls $safe");"#, r#"exec("rm -rf $_POST[x]");"#, false),
            (r#"exec("ls $safe now");"#, r#"exec("rm $safe");"#, true),
            (r#"run("a = %d" % name)"#, r#"run("a = '%s'" % name)"#, false),
            (r#"s = s.replace(/'/g, "");"#, r#"s = s.replace(/'/g, ""); eval(s);"#, false),
            (r#"s = s.replace(/'/g, "'");"#, r#"s = s.replace(/'/g, "'"); eval(s);"#, false),
        ] {
            assert_eq!(skeleton(one) == skeleton(other), expected, "{one}");
        }
    }
}
