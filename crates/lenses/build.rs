//! Writes the pages of the lenses as the program prints them: without their cases, which are test data and four fifths of
//! the text.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let pages = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"))
        .join("../../tests/corpus/lenses");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed={}", pages.display());
    for entry in fs::read_dir(pages)? {
        let entry = entry?;
        fs::write(out.join(entry.file_name()), prose(&fs::read_to_string(entry.path())?))?;
    }
    Ok(())
}

/// Returns a page without its test cases.
fn prose(page: &str) -> String {
    let mut text = String::new();
    let (mut in_case, mut in_file) = (false, false);
    for line in page.lines() {
        // A file of a case may have lines that look like headings.
        if line.starts_with("~~~") {
            in_file = !in_file;
        } else if in_file {
            // Belongs to the case.
        } else if line.starts_with("### ") {
            in_case = true;
        } else if line.starts_with("## ") || line.starts_with("# ") {
            in_case = false;
        }
        if !in_case {
            text.push_str(line);
            text.push('\n');
        }
    }
    format!("{}\n", text.trim_end())
}
