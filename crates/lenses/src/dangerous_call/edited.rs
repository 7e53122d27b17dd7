//! Calls that a change only edits beside what makes them dangerous.

use std::collections::BTreeSet;

use super::{COMMAND, DYNAMIC, HTML, QUERY};
use crate::contract::Draft;
use qa_core::packet::Packet;

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
    let is_read = |rule: &str| [COMMAND, DYNAMIC, HTML, QUERY].contains(&rule);
    drafts.retain(|draft| {
        let is_one_line = draft.start_line == draft.end_line;
        !(is_read(&draft.rule) && is_one_line && edited.contains(&draft.start_line))
    });
}

/// Returns a line without white space and the literal text of its strings. Interpolated expressions stay.
fn skeleton(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let (mut quote, mut depth) = (None, 0_usize);
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(_), '\\') => {
                signs.next();
            }
            (Some(own), _) if depth == 0 && sign == own => {
                quote = None;
                kept.push('"');
            }
            (Some(_), '{') => {
                depth += 1;
                kept.push(sign);
            }
            (Some(_), '}') => {
                depth = depth.saturating_sub(1);
                kept.push(sign);
            }
            // `$name` and `%s` are places as well.
            (Some(_), '$' | '%' | '#') => kept.push(sign),
            (Some(_), _) if depth == 0 => {}
            (None, '"' | '\'' | '`') => {
                quote = Some(sign);
                kept.push('"');
            }
            (_, sign) if sign.is_whitespace() => {}
            (_, sign) => kept.push(sign),
        }
    }
    kept
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
        ] {
            assert_eq!(skeleton(one) == skeleton(other), expected, "{one}");
        }
    }
}
