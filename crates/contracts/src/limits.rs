//! The hard bounds on anything read from outside; each is larger than honest input and smaller than harm.

/// The largest JSON document accepted, in bytes.
pub const MAX_JSON_BYTES: usize = 64 << 20;
/// The deepest nesting of arrays and objects accepted in JSON.
pub const MAX_JSON_DEPTH: usize = 64;
/// The longest string accepted in JSON, in bytes.
pub const MAX_JSON_STRING_BYTES: usize = 32 << 20;
/// The largest integer that every JSON reader keeps exactly (RFC 8785 would merge larger ones silently).
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
/// The largest policy or waiver file accepted, in bytes.
pub const MAX_POLICY_BYTES: usize = 1 << 20;
/// The deepest directory nesting walked in a git tree.
pub const MAX_TREE_DEPTH: usize = 512;
/// Number of items of a long list that are validated at a time.
pub const VALIDATED_ITEMS: usize = 256;
/// Recorded texts are split into files of about this many bytes, well under [`MAX_JSON_BYTES`] once escaped.
pub const RECORDING_CHUNK_BYTES: usize = 4 << 20;
/// The largest report of a tool accepted, and the most of all together, in bytes; escaped it still fits
/// [`MAX_JSON_BYTES`].
pub const MAX_REPORT_BYTES: usize = 16 << 20;
/// The largest ledger of a pull request, in bytes of canonical JSON.
pub const MAX_LEDGER_BYTES: usize = 256 << 10;
/// The largest file of attestations, in bytes.
pub const MAX_ATTESTATION_BYTES: usize = 1 << 20;
/// The largest rubric that is read.
pub const MAX_RUBRIC_BYTES: usize = 8 << 20;
