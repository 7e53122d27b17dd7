//! The contracts: serialised data without behaviour, and the schemas that it must match.

#![warn(missing_docs)]

pub mod artifact;
pub mod codes;
pub mod ids;
pub mod limits;
pub mod schema;
pub mod secret;
pub mod strict_json;
pub mod v1;
