//! Changed files whose content is not text, which a PASS counts: no lens read it.

use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangeSet, ChangedFile};

/// Returns whether the change brings content that is not text, of which lenses saw path, modes and kind of change alone.
pub fn is_opaque(file: &ChangedFile) -> bool {
    let adds_no_line = file.hunks.iter().all(|hunk| hunk.new_lines == 0);
    let has_text_at_head = file.text && (file.hunks.is_empty() || !adds_no_line);
    file.codes.contains(&Code::BinaryContent)
        && file.new_mode.is_some()
        && file.old_blob != file.new_blob
        && !has_text_at_head
        && !file.codes.contains(&Code::BlobTooLarge)
}

/// Returns how many files of a change are opaque, as the end of a sentence; `None` for none.
pub fn opaque_files(change_set: &ChangeSet) -> Option<String> {
    match change_set.files.iter().filter(|file| is_opaque(file)).count() {
        0 => None,
        1 => Some("1 binary file was not read".to_owned()),
        count => Some(format!("{count} binary files were not read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn file(member: &str, value: Value) -> ChangedFile {
        let id = |digit: &str| digit.repeat(40);
        let mut file = json!({
            "path": "logo.png", "oldPath": null, "kind": "modified", "oldMode": "100644", "newMode": "100644",
            "oldBlob": id("1"), "newBlob": id("2"), "class": "asset", "scope": "product", "scopeReason": "name", "language": null,
            "text": false, "hunks": [], "codes": ["BINARY_CONTENT"]
        });
        file[member] = value;
        if member == "hunks" {
            file["text"] = json!(true);
        }
        serde_json::from_value(file).unwrap()
    }

    fn hunk(old_lines: u64, new_lines: u64) -> Value {
        json!([{
            "ordinal": 0, "oldStart": 1, "oldLines": old_lines, "newStart": 1, "newLines": new_lines,
            "section": ""
        }])
    }

    #[test]
    fn a_file_is_opaque_where_the_change_brings_bytes_that_nobody_read() {
        let cases = [
            ("another picture", file("codes", json!(["BINARY_CONTENT"])), true),
            ("a new picture", file("oldBlob", json!(null)), true),
            ("text that becomes a picture", file("hunks", hunk(3, 0)), true),
            ("a picture that becomes text", file("hunks", hunk(0, 3)), false),
            ("a picture that becomes an empty file", file("text", json!(true)), false),
            ("a picture that goes", file("newMode", json!(null)), false),
            ("a picture that moves", file("newBlob", json!("1".repeat(40))), false),
            ("text", file("codes", json!([])), false),
            ("a file over the limit", file("codes", json!(["BINARY_CONTENT", "BLOB_TOO_LARGE"])), false),
        ];
        for (name, file, expected) in cases {
            assert_eq!(is_opaque(&file), expected, "{name}");
        }
    }
}
