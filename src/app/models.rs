//! Whether the models of a policy can be asked as it says.

use qa_contracts::v1::PolicyModel;
use qa_core::policy_text::{self, PolicyTextError};
use qa_providers::model::Model;

/// Whether every model of a policy can be asked as the policy says.
pub(super) fn check<'a>(
    models: impl Iterator<Item = (&'a String, &'a PolicyModel)>,
    text: &str,
) -> Result<(), PolicyTextError> {
    for (name, model) in models {
        Model::of(name, model).map_err(|message| PolicyTextError {
            line: policy_text::line_of_table(text, &format!("[models.{name}]")),
            message,
            suggestion: None,
        })?;
    }
    Ok(())
}
