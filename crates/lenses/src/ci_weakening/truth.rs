//! Truth of a shell's tests whose words are written out.

/// A word, or a sign between words.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(&'static str),
}

/// Signs of a shell, the longest first.
const SIGNS: &[&str] = &["<<<", "&&", "||", ";;", ";", "\n", "|", "(", ")", "<", ">", "&"];

/// Returns whether the list of commands at the end of a text succeeds, where the words of its tests decide that.
pub(super) fn of_last_list(text: &str) -> Option<bool> {
    let tokens = tokens(text);
    let begin = tokens.iter().rposition(|token| match token {
        Token::Sign(sign) => matches!(*sign, ";" | ";;" | "\n" | "&"),
        Token::Word(word) => matches!(word.as_str(), "then" | "do" | "else" | "{"),
    });
    list(&tokens[begin.map_or(0, |begin| begin + 1)..])
}

/// Returns whether a list of commands succeeds, where the words of its tests decide that.
pub(super) fn of_list(text: &str) -> Option<bool> {
    let tokens = tokens(text.trim().trim_end_matches(';'));
    list(&tokens)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("\\\n") {
            rest = behind;
        } else if first != '\n' && first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if found.last() == Some(&Token::Word("=~".to_owned())) {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            rest = &rest[sign.len()..];
            // A list goes on behind a sign at the end of a line.
            let goes_on = matches!(found.last(), Some(Token::Sign("&&" | "||" | "|")));
            if *sign != "\n" || !goes_on {
                found.push(Token::Sign(sign));
            }
        } else {
            let (word, length) = word(rest);
            found.push(Token::Word(word));
            rest = &rest[length..];
        }
    }
    while found.last() == Some(&Token::Sign("\n")) {
        found.pop();
    }
    found
}

/// Reads a word without its quotes, and returns its length with them.
fn word(text: &str) -> (String, usize) {
    let mut word = String::new();
    let mut quote = None;
    for (at, character) in text.char_indices() {
        let is_end = character.is_whitespace() || SIGNS.iter().any(|sign| text[at..].starts_with(sign));
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => word.push(character),
            (None, '"' | '\'') => quote = Some(character),
            (None, _) if is_end => return (word, at),
            (None, _) => word.push(character),
        }
    }
    (word, text.len())
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (Some(true) | None, None) | (None, Some(true)) => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    not(and(not(left), not(right)))
}

fn not(value: Option<bool>) -> Option<bool> {
    value.map(|value| !value)
}

/// Returns the truth of commands with `&&` and `||` between them, which a shell reads from the left.
fn list(tokens: &[Token]) -> Option<bool> {
    let mut value: Option<Option<bool>> = None;
    let mut operator = "&&";
    for (part, sign) in parts(tokens) {
        let own = pipeline(part);
        value = Some(match (value, operator) {
            (None, _) => own,
            (Some(value), "||") => or(value, own),
            (Some(value), _) => and(value, own),
        });
        operator = sign;
    }
    value.flatten()
}

/// Splits a list at the signs between its commands, each with the sign behind it.
fn parts(tokens: &[Token]) -> Vec<(&[Token], &'static str)> {
    let mut found = Vec::new();
    let (mut begin, mut depth) = (0, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth = depth.saturating_sub(1),
            Token::Word(word) if word == "[[" => depth += 1,
            Token::Word(word) if word == "]]" => depth = depth.saturating_sub(1),
            Token::Sign(sign) if depth == 0 && matches!(*sign, "&&" | "||") => {
                found.push((&tokens[begin..at], *sign));
                begin = at + 1;
            }
            Token::Sign(_) | Token::Word(_) => {}
        }
    }
    found.push((&tokens[begin..], "&&"));
    found
}

fn pipeline(tokens: &[Token]) -> Option<bool> {
    match tokens {
        [Token::Word(sign), rest @ ..] if sign == "!" => return not(pipeline(rest)),
        [Token::Word(open), inner @ .., Token::Word(close)] if open == "[[" && close == "]]" => {
            return condition(inner, "||", "&&");
        }
        [Token::Word(open), inner @ .., Token::Word(close)] if open == "[" && close == "]" => {
            return condition(inner, "-o", "-a");
        }
        [Token::Word(program), inner @ ..] if program == "test" => return condition(inner, "-o", "-a"),
        [Token::Sign("("), inner @ .., Token::Sign(")")] => return list(inner),
        _ => {}
    }
    let stages: Vec<&[Token]> = tokens.split(|token| *token == Token::Sign("|")).collect();
    match stages.as_slice() {
        [only] => {
            let at = only.iter().position(|token| *token == Token::Sign("<<<")).unwrap_or(only.len());
            let input = words(only.get(at + 1..).unwrap_or_default());
            command(&words(&only[..at])?, input.as_deref())
        }
        [printer, reader] => {
            let (printed, read) = (words(printer)?, words(reader)?);
            let is_printer = matches!(printed.first(), Some(&("echo" | "printf")));
            command(&read, Some(&printed[1..]).filter(|_| is_printer))
        }
        _ => None,
    }
}

/// Returns the words of a command that has no signs.
fn words(tokens: &[Token]) -> Option<Vec<&str>> {
    let words = tokens.iter().map(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        Token::Sign(_) => None,
    });
    words.collect()
}

/// Returns whether a command succeeds, given the words that it reads.
fn command(words: &[&str], input: Option<&[&str]>) -> Option<bool> {
    match words {
        ["true" | ":" | "echo" | "printf", ..] => Some(true),
        ["false"] => Some(false),
        ["grep" | "egrep", options @ .., pattern] if options.iter().all(|word| word.starts_with('-')) => {
            let input = input?.join(" ");
            let is_plain = !input.contains(['$', '`']) && !options.iter().any(|word| word.contains('v'));
            if is_plain { matches_pattern(&input, &pattern.replace("\\|", "|")) } else { None }
        }
        _ => None,
    }
}

fn place_of(tokens: &[Token], operator: &str) -> Option<usize> {
    tokens.iter().position(|token| is_operator(token, operator))
}

/// Returns whether a test holds, given the words for or and for and.
fn condition(tokens: &[Token], or_word: &str, and_word: &str) -> Option<bool> {
    if let Some(at) = place_of(tokens, or_word) {
        let (left, right) = (&tokens[..at], &tokens[at + 1..]);
        return or(condition(left, or_word, and_word), condition(right, or_word, and_word));
    }
    if let Some(at) = place_of(tokens, and_word) {
        let (left, right) = (&tokens[..at], &tokens[at + 1..]);
        return and(condition(left, or_word, and_word), condition(right, or_word, and_word));
    }
    match tokens {
        [Token::Word(sign), rest @ ..] if sign == "!" => not(condition(rest, or_word, and_word)),
        _ => comparison(&words(tokens)?),
    }
}

fn is_operator(token: &Token, operator: &str) -> bool {
    match token {
        Token::Word(word) => word == operator,
        Token::Sign(sign) => *sign == operator,
    }
}

/// Returns whether a word has no value that the shell works out.
fn is_literal(word: &str) -> bool {
    !word.contains(['$', '`'])
}

fn comparison(words: &[&str]) -> Option<bool> {
    match words {
        [left, "=~", pattern] if is_literal(left) => matches_pattern(left, pattern.trim_matches(['"', '\''])),
        words if !words.iter().all(|word| is_literal(word)) => None,
        [word] | ["-n", word] => Some(!word.is_empty()),
        ["-z", word] => Some(word.is_empty()),
        [left, "=" | "==", right] => is_equal(left, right),
        [left, "!=", right] => not(is_equal(left, right)),
        [left, operator, right] => {
            let (left, right) = (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?);
            match *operator {
                "-eq" => Some(left == right),
                "-ne" => Some(left != right),
                "-lt" => Some(left < right),
                "-le" => Some(left <= right),
                "-gt" => Some(left > right),
                "-ge" => Some(left >= right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether two texts are equal; the second may have a star at both ends.
fn is_equal(left: &str, right: &str) -> Option<bool> {
    let inner = right.trim_matches('*');
    if inner.contains(['*', '?', '[']) {
        return None;
    }
    Some(match (right.len() > inner.len() && right.starts_with('*'), right.ends_with('*')) {
        (true, true) => left.contains(inner),
        (true, false) => left.ends_with(inner),
        (false, true) => left.starts_with(inner),
        (false, false) => left == right,
    })
}

/// Returns whether a text has a match of a pattern that is a choice of words.
fn matches_pattern(text: &str, pattern: &str) -> Option<bool> {
    let (from_start, pattern) = strip(pattern, pattern.strip_prefix('^'));
    let (to_end, pattern) = strip(pattern, pattern.strip_suffix('$'));
    let pattern = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(pattern);
    let mut found = false;
    for word in pattern.split('|') {
        if !word.chars().all(|sign| sign.is_alphanumeric() || "_- \"':".contains(sign)) {
            return None;
        }
        found |= match (from_start, to_end) {
            (true, true) => text == word,
            (true, false) => text.starts_with(word),
            (false, true) => text.ends_with(word),
            (false, false) => text.contains(word),
        };
    }
    Some(found)
}

/// Returns whether a part was there, and the text without it.
fn strip<'t>(text: &'t str, rest: Option<&'t str>) -> (bool, &'t str) {
    (rest.is_some(), rest.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_decided_by_their_words() {
        for (text, expected) in [
            (r#"test "failure" = success"#, Some(false)),
            (r#"[ "failure" != "cancelled" ]"#, Some(true)),
            (r#"[ failure = success -o 1 = 1 ]"#, Some(true)),
            (r#"test -n "failure""#, Some(true)),
            (r#"[[ "failure success" =~ failure ]]"#, Some(true)),
            (r#"[[ success =~ ^(success|skipped)$ ]]"#, Some(true)),
            (r#"[[ failure == "success" && skipped == success ]]"#, Some(false)),
            (r#"[[ "failure success" == *failure* ]]"#, Some(true)),
            (r#"[ success = success ] && [ failure = success ]"#, Some(false)),
            (r#"! [ failure = success ]"#, Some(true)),
            (r#"echo "success failure" | grep -q failure"#, Some(true)),
            (r#"grep -qE 'failure|cancelled' <<< "success""#, Some(false)),
            (r#"[ "$X" = success ]"#, None),
            ("./check.sh failure", None),
        ] {
            assert_eq!(of_list(text), expected, "{text}");
        }
        assert_eq!(of_last_list("x=1; [ 1 = 1 ] &&\n [ a = b ]"), Some(false));
    }
}
