//! git's wire protocol: encodes requests and parses responses, those of fetches by version 2, and those of pushes.
//!
//! Source: git's `gitprotocol-v2` and `gitprotocol-pack` pages.

use std::io::{self, Write};

/// Arguments of a fetch.
#[derive(Debug, Default)]
pub(super) struct FetchRequest<'a> {
    pub(super) wants: &'a [String],
    /// Commits whose trees are present.
    pub(super) haves: &'a [String],
    /// Commits whose parents are missing.
    pub(super) shallow: &'a [String],
    pub(super) depth: u32,
    /// True to fetch commits without trees and blobs.
    pub(super) commits_only: bool,
}

impl FetchRequest<'_> {
    /// Returns the body of the request.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = command("fetch");
        push_line(&mut body, "no-progress");
        push_line(&mut body, "ofs-delta");
        for want in self.wants {
            push_line(&mut body, &format!("want {want}"));
        }
        for have in self.haves {
            push_line(&mut body, &format!("have {have}"));
        }
        for shallow in self.shallow {
            push_line(&mut body, &format!("shallow {shallow}"));
        }
        push_line(&mut body, &format!("deepen {}", self.depth));
        if self.commits_only {
            push_line(&mut body, "filter tree:0");
        }
        push_line(&mut body, "done");
        body.extend_from_slice(b"0000");
        body
    }
}

/// Returns the body of a request for the commits of refs with these exact names.
pub(super) fn encode_tips(names: &[&str]) -> Vec<u8> {
    let mut body = command("ls-refs");
    push_line(&mut body, "peel");
    for name in names {
        push_line(&mut body, &format!("ref-prefix {name}"));
    }
    body.extend_from_slice(b"0000");
    body
}

/// Returns the commit of a ref in the response to [`encode_tips`], or the one that an annotated tag names. The response may
/// list more refs, since names match as prefixes. `None` means that the server has no such ref, so a response that is not
/// whole is an error.
pub(super) fn read_tip(answer: &[u8], name: &str) -> Result<Option<String>, &'static str> {
    const FLUSH: &[u8] = b"0000";
    let mut rest = answer;
    let mut tip = None;
    while rest != FLUSH {
        let packet = next_packet(rest).ok_or("the answer is not a whole list of refs")?;
        rest = packet.rest;
        if packet.data.starts_with(b"ERR ") {
            return Err("the server refused to list refs");
        }
        let text = String::from_utf8_lossy(packet.data);
        let mut words = text.trim_end().split(' ');
        if let (Some(id), Some(listed)) = (words.next(), words.next())
            && listed == name
        {
            let peeled = words.find_map(|attribute| attribute.strip_prefix("peeled:"));
            tip = Some(peeled.unwrap_or(id).to_owned());
        }
    }
    Ok(tip)
}

fn command(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    push_line(&mut body, &format!("command={name}"));
    push_line(&mut body, concat!("agent=qa-skill/", env!("CARGO_PKG_VERSION")));
    push_line(&mut body, "object-format=sha1");
    body.extend_from_slice(b"0001");
    body
}

fn push_line(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(format!("{:04x}{text}\n", text.len() + 5).as_bytes());
}

/// Returns whether an advertisement of version 2 supports partial objects, or `None` for another version.
pub(super) fn serves_filters(advertisement: &[u8]) -> Option<bool> {
    let mut version = false;
    let mut filters = false;
    let mut rest = advertisement;
    while let Some(packet) = next_packet(rest) {
        rest = packet.rest;
        let text = String::from_utf8_lossy(packet.data);
        let text = text.trim_end();
        version |= text == "version 2";
        let features = text.strip_prefix("fetch=").unwrap_or_default();
        filters |= features.split(' ').any(|feature| feature == "filter");
    }
    version.then_some(filters)
}

/// Returns the body of an update of a ref, which the pack follows. An id of zeros stands for no commit.
pub(super) fn encode_update(name: &str, old: &str, new: &str) -> Vec<u8> {
    let agent = concat!("agent=qa-skill/", env!("CARGO_PKG_VERSION"));
    let line = format!("{old} {new} {name}\0 report-status {agent}");
    let mut body = format!("{:04x}{line}", line.len() + 4).into_bytes();
    body.extend_from_slice(b"0000");
    body
}

/// Returns the commit of a ref among those that a server advertises for a push; `None` if it has no such ref. A list that is not
/// whole is an error, since a ref may be missing from it.
pub(super) fn read_advertised(answer: &[u8], name: &str) -> Result<Option<String>, &'static str> {
    const NOT_WHOLE: &str = "the answer is not a whole list of refs";
    const FLUSH: &[u8] = b"0000";
    let service = next_packet(answer).filter(|packet| packet.data.starts_with(b"# service=git-receive-pack"));
    let mut rest = service.and_then(|packet| packet.rest.strip_prefix(FLUSH)).ok_or(NOT_WHOLE)?;
    let mut commit = None;
    let mut reports = false;
    while rest != FLUSH {
        let packet = next_packet(rest).ok_or(NOT_WHOLE)?;
        rest = packet.rest;
        let text = String::from_utf8_lossy(packet.data);
        let (listed, capabilities) = text.trim_end().split_once('\0').unwrap_or((text.trim_end(), ""));
        reports |= capabilities.split(' ').any(|capability| capability == "report-status");
        if let Some((id, listed)) = listed.split_once(' ')
            && listed == name
        {
            commit = Some(id.to_owned());
        }
    }
    if reports { Ok(commit) } else { Err("the server does not report what became of a push") }
}

/// Fails with the server's reason unless a report says that a ref was updated.
pub(super) fn read_report(answer: &[u8], name: &str) -> Result<(), String> {
    let mut is_unpacked = false;
    let mut rest = answer;
    while let Some(packet) = next_packet(rest) {
        rest = packet.rest;
        let text = String::from_utf8_lossy(packet.data);
        let text = text.trim_end();
        match text.split_once(' ') {
            Some(("unpack", "ok")) => is_unpacked = true,
            Some(("ok", updated)) if updated == name && is_unpacked => return Ok(()),
            Some(("ng" | "unpack" | "ERR", reason)) => {
                return Err(qa_core::masking::sanitize_cut(reason, 200));
            }
            _ => {}
        }
    }
    Err("the server does not say what became of it".to_owned())
}

/// A packet, and the bytes after it.
struct Packet<'a> {
    /// Content, empty for the three special packets.
    data: &'a [u8],
    rest: &'a [u8],
}

fn next_packet(bytes: &[u8]) -> Option<Packet<'_>> {
    let length = packet_length(bytes.get(..4)?)?;
    match length {
        0..=3 => Some(Packet { data: &[], rest: &bytes[4..] }),
        _ => Some(Packet { data: bytes.get(4..length)?, rest: &bytes[length..] }),
    }
}

fn packet_length(digits: &[u8]) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().filter(|length| *length <= 65_520)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Between sections.
    Heading,
    ShallowInfo,
    Pack,
    /// Any other section.
    Other,
}

/// Parses the response to a fetch as it arrives: writes the pack to `pack` and collects the rest.
pub(super) struct FetchAnswer<W: Write> {
    pack: W,
    section: Section,
    pending: Vec<u8>,
    /// Commits whose parents the server did not send.
    pub(super) shallow: Vec<String>,
    /// Commits whose parents the server sent.
    pub(super) unshallow: Vec<String>,
    /// Error message of the server.
    pub(super) error: Option<String>,
    /// Number of bytes of the pack.
    pub(super) pack_bytes: u64,
}

impl<W: Write> FetchAnswer<W> {
    pub(super) fn new(pack: W) -> Self {
        Self {
            pack,
            section: Section::Heading,
            pending: Vec::new(),
            shallow: Vec::new(),
            unshallow: Vec::new(),
            error: None,
            pack_bytes: 0,
        }
    }

    /// Returns the pack's writer, or an error if the response is incomplete.
    pub(super) fn finish(self) -> Result<W, String> {
        match self.error {
            Some(error) => Err(error),
            None if !self.pending.is_empty() => Err("the answer is cut short".to_owned()),
            None if self.pack_bytes == 0 => Err("the answer has no pack".to_owned()),
            None => Ok(self.pack),
        }
    }

    fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
        if let Some(error) = packet.strip_prefix(b"ERR ") {
            self.fault(error);
            return Ok(());
        }
        match self.section {
            Section::Heading => {
                self.section = match packet.trim_ascii_end() {
                    b"packfile" => Section::Pack,
                    b"shallow-info" => Section::ShallowInfo,
                    _ => Section::Other,
                };
            }
            Section::ShallowInfo => {
                let text = String::from_utf8_lossy(packet);
                match text.trim_end().split_once(' ') {
                    Some(("shallow", id)) => self.shallow.push(id.to_owned()),
                    Some(("unshallow", id)) => self.unshallow.push(id.to_owned()),
                    _ => self.fault(b"the shallow section is malformed"),
                }
            }
            Section::Pack => match packet.split_first() {
                Some((1, data)) => {
                    self.pack_bytes += data.len() as u64;
                    self.pack.write_all(data)?;
                }
                Some((2, _)) => {}
                Some((_, data)) => self.fault(data),
                None => {}
            },
            Section::Other => {}
        }
        Ok(())
    }

    fn fault(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        self.error.get_or_insert_with(|| qa_core::masking::sanitize_cut(text.trim_end(), 200));
    }
}

impl<W: Write> Write for FetchAnswer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while let Some(digits) = rest.get(..4) {
            let Some(length) = packet_length(digits) else {
                return Err(io::Error::other("the answer is not in git's packet format"));
            };
            match length {
                // The flush, delimiter and end packets end a section.
                0..=3 => {
                    self.section = Section::Heading;
                    rest = &rest[4..];
                }
                _ => {
                    let Some(packet) = rest.get(4..length) else { break };
                    self.packet(packet)?;
                    rest = &rest[length..];
                }
            }
        }
        self.pending = rest.to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pack.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(items: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for item in items {
            match *item {
                b"|" => bytes.extend_from_slice(b"0001"),
                b"." => bytes.extend_from_slice(b"0000"),
                item => {
                    bytes.extend_from_slice(format!("{:04x}", item.len() + 4).as_bytes());
                    bytes.extend_from_slice(item);
                }
            }
        }
        bytes
    }

    #[test]
    fn a_push_counts_only_where_the_server_says_so() {
        let report = |items: &[&[u8]]| read_report(&packets(items), "refs/heads/a");
        assert_eq!(report(&[b"unpack ok\n", b"ok refs/heads/a\n", b"."]), Ok(()));
        let declined = "refs/heads/a protected branch hook declined";
        let line = format!("ng {declined}\n");
        assert_eq!(report(&[b"unpack ok\n", line.as_bytes(), b"."]), Err(declined.to_owned()));
        assert_eq!(report(&[b"unpack index-pack failed\n", b"."]), Err("index-pack failed".to_owned()));
        let unsaid = Err("the server does not say what became of it".to_owned());
        assert_eq!(report(&[]), unsaid);
        assert_eq!(report(&[b"unpack ok\n", b"ok refs/heads/b\n", b"."]), unsaid);
        assert_eq!(report(&[b"ok refs/heads/a\n", b"."]), unsaid);
    }

    #[test]
    fn a_ref_is_absent_only_in_a_whole_list() {
        let service: &[u8] = b"# service=git-receive-pack\n";
        let first: &[u8] = b"aaaa refs/heads/a\0report-status atomic\n";
        let read = |items: &[&[u8]], name: &str| read_advertised(&packets(items), name);
        let list: &[&[u8]] = &[service, b".", first, b"bbbb refs/heads/b\n", b"."];
        assert_eq!(read(list, "refs/heads/a"), Ok(Some("aaaa".to_owned())));
        assert_eq!(read(list, "refs/heads/b"), Ok(Some("bbbb".to_owned())));
        assert_eq!(read(list, "refs/heads/c"), Ok(None));
        let empty: &[u8] = b"0000 capabilities^{}\0report-status\n";
        assert_eq!(read(&[service, b".", empty, b"."], "refs/heads/a"), Ok(None));
        assert!(read(&list[..4], "refs/heads/c").is_err());
        assert!(read(&list[2..], "refs/heads/a").is_err());
        assert!(read(&[service, b".", b"aaaa refs/heads/a\0atomic\n", b"."], "refs/heads/a").is_err());
        assert!(read(&[], "refs/heads/a").is_err());
    }

    #[test]
    fn an_answer_is_read_in_whatever_pieces_it_arrives() {
        let bytes = packets(&[
            b"shallow-info\n",
            b"shallow aaaa\n",
            b"unshallow bbbb\n",
            b"|",
            b"packfile\n",
            b"\x01PA",
            b"\x02progress",
            b"\x01CK",
            b".",
        ]);
        for size in [1, 3, 7, bytes.len()] {
            let mut answer = FetchAnswer::new(Vec::new());
            for piece in bytes.chunks(size) {
                answer.write_all(piece).unwrap();
            }
            assert_eq!(
                (answer.shallow.as_slice(), answer.unshallow.as_slice()),
                (&["aaaa".to_owned()][..], &["bbbb".to_owned()][..])
            );
            assert_eq!(answer.finish(), Ok(b"PACK".to_vec()), "pieces of {size}");
        }
    }

    #[test]
    fn an_answer_that_is_no_pack_says_why() {
        let of = |bytes: &[u8]| {
            let mut answer = FetchAnswer::new(Vec::new());
            answer.write_all(bytes).map_err(|error| error.to_string())?;
            answer.finish()
        };
        assert_eq!(
            of(&packets(&[b"ERR upload-pack: not our ref 12"])),
            Err("upload-pack: not our ref 12".into())
        );
        assert_eq!(of(&packets(&[b"packfile\n", b"\x03out of memory", b"."])), Err("out of memory".into()));
        assert_eq!(of(b"0000"), Err("the answer has no pack".into()));
        assert_eq!(of(&packets(&[b"packfile\n", b"\x01PACK"])[..15]), Err("the answer is cut short".into()));
        assert_eq!(of(b"<html>"), Err("the answer is not in git's packet format".into()));
    }

    #[test]
    fn a_tip_is_that_of_the_very_ref_and_not_of_a_longer_name() {
        let answer = packets(&[b"aaaa refs/heads/main-2\n", b"bbbb refs/heads/main\n", b"."]);
        assert_eq!(read_tip(&answer, "refs/heads/main"), Ok(Some("bbbb".into())));
        assert_eq!(read_tip(&answer, "refs/heads/mai"), Ok(None));
        assert_eq!(read_tip(b"0000", "HEAD"), Ok(None));
        for broken in [&b""[..], b"<html>", b"{}", &answer[..20], &answer[..answer.len() - 4]] {
            assert!(read_tip(broken, "refs/heads/main").is_err(), "{}", String::from_utf8_lossy(broken));
        }
        assert!(read_tip(&packets(&[b"ERR access denied", b"."]), "HEAD").is_err());
    }

    #[test]
    fn an_advertisement_tells_whether_commits_can_be_had_alone() {
        let of = |items: &[&[u8]]| serves_filters(&packets(items));
        let service: &[u8] = b"# service=git-upload-pack\n";
        assert_eq!(of(&[service, b".", b"version 2\n", b"fetch=shallow filter\n", b"."]), Some(true));
        assert_eq!(of(&[service, b".", b"version 2\n", b"fetch=shallow\n", b"."]), Some(false));
        assert_eq!(of(&[service, b".", b"0123 HEAD\0caps\n", b"."]), None);
        assert_eq!(serves_filters(b"<html>"), None);
    }
}
