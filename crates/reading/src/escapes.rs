//! Escapes in strings and names of source code.

/// Reads the code point behind `\u`, as four digits or in braces. Returns it with the text that follows.
pub(crate) fn code_point(text: &str) -> Option<(char, &str)> {
    let (digits, behind) = match text.strip_prefix('{') {
        Some(inside) => {
            let digits = inside.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
            (&inside[..inside.len() - digits.len()], digits.strip_prefix('}')?)
        }
        None => text.split_at_checked(4)?,
    };
    let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((character, behind))
}

/// Returns a text of which the escapes are what they stand for, as most languages write them.
pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let digits = match rest.next() {
            Some('n') => {
                out.push('\n');
                continue;
            }
            Some('t') => {
                out.push('\t');
                continue;
            }
            // A line that goes on.
            Some('\n') | None => continue,
            Some('x') => 2,
            Some('u') => {
                if let Some((decoded, behind)) = code_point(rest.as_str()) {
                    out.push(decoded);
                    rest = behind.chars();
                }
                continue;
            }
            Some(first @ '0'..='7') => {
                let more =
                    rest.as_str().bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let code = format!("{first}{}", &rest.as_str()[..more]);
                out.extend(u32::from_str_radix(&code, 8).ok().and_then(char::from_u32));
                rest = rest.as_str()[more..].chars();
                continue;
            }
            Some(other) => {
                out.push(other);
                continue;
            }
        };
        let code: String = rest.clone().take(digits).collect();
        if let Some(decoded) = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32) {
            out.push(decoded);
            rest = rest.as_str()[code.len()..].chars();
        }
    }
    out
}
