//! Recognizes in the output of tools that the sandbox refused a socket.

/// Messages of a refused call, as C libraries, Node and Go write them.
const REFUSED: &[&str] = &["Operation not permitted", "operation not permitted", "EPERM"];
/// Words of network programs near such a message.
const SOCKET_WORDS: &[&str] = &["socket", "listen", "connect", "bind", "tcp", "udp", "http"];
/// Messages about names of machines, which cannot be looked up without a socket.
const UNRESOLVED: &[&str] =
    &["Temporary failure in name resolution", "EAI_AGAIN", "server misbehaving", "failed to lookup address"];
/// Maximum distance of a word from a message, in bytes.
const MAX_DISTANCE: usize = 400;
/// Maximum number of messages that are looked at.
const MAX_MESSAGES: usize = 100;

/// Returns whether a text has a message that a refused socket causes.
pub fn mentions_refusal(text: &str) -> bool {
    REFUSED.iter().chain(UNRESOLVED).any(|message| text.contains(message))
}

/// Returns whether a text shows that a socket was refused: such a message with a word of network programs near it.
pub fn suggests_refused_socket(text: &str) -> bool {
    if UNRESOLVED.iter().any(|message| text.contains(message)) {
        return true;
    }
    let messages = REFUSED.iter().flat_map(|message| text.match_indices(message).take(MAX_MESSAGES));
    messages.map(|(at, _)| around(text, at)).any(|near| {
        let near = near.to_ascii_lowercase();
        SOCKET_WORDS.iter().any(|word| near.contains(word))
    })
}

/// Returns the text near a position.
fn around(text: &str, at: usize) -> &str {
    let start = text.floor_char_boundary(at.saturating_sub(MAX_DISTANCE));
    &text[start..text.floor_char_boundary(at.saturating_add(MAX_DISTANCE))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_sockets_are_recognized_as_tools_report_them() {
        for text in [
            "PermissionError: [Errno 1] Operation not permitted\n/usr/lib/python3.11/socket.py:233: PermissionError",
            "Error: listen EPERM: operation not permitted 127.0.0.1",
            "connect EPERM 127.0.0.1:80 - Local (undefined:undefined)",
            "listen tcp 127.0.0.1:0: socket: operation not permitted",
            "tcp open error: Operation not permitted (os error 1)",
            "getaddrinfo EAI_AGAIN example.com",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        ] {
            assert!(suggests_refused_socket(text) && mentions_refusal(text), "{text}");
        }
        let far = format!("Operation not permitted{}socket", " ".repeat(MAX_DISTANCE));
        for text in
            ["EPERM: operation not permitted, chown '/etc/passwd'", "expected 1 to be 2", "socket", &far]
        {
            assert!(!suggests_refused_socket(text), "{text}");
        }
    }
}
