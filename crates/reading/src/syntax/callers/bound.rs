//! Names that a file binds by anything but an import, wherever: none of them surely means what another file defines.

use std::collections::BTreeSet;

use tree_sitter::{Node, Tree, TreeCursor};

use super::super::walk::span;
use crate::nodes::Tabled;

/// Parts of patterns, which bind where the pattern does. Those with a field bind by it alone.
const PATTERNS: &[(&str, &str)] = &[
    ("array_pattern", ""),
    ("assignment_pattern", "left"),
    ("captured_pattern", ""),
    ("expression_list", ""),
    ("field_pattern", ""),
    ("list", ""),
    ("list_pattern", ""),
    ("list_splat_pattern", ""),
    ("mut_pattern", ""),
    ("object_assignment_pattern", "left"),
    ("object_pattern", ""),
    ("or_pattern", ""),
    ("pair_pattern", "value"),
    ("pattern_list", ""),
    ("ref_pattern", ""),
    ("reference_pattern", ""),
    ("rest_pattern", ""),
    ("slice_pattern", ""),
    ("struct_pattern", ""),
    ("tuple", ""),
    ("tuple_pattern", ""),
    ("tuple_struct_pattern", ""),
];

/// Nodes that bind the names in a field, or in all of them.
const BINDERS: &[(&str, &str)] = &[
    ("abstract_class_declaration", "name"),
    ("annotation_type_declaration", "name"),
    ("arrow_function", "parameter"),
    ("as_pattern_target", ""),
    ("assignment", "left"),
    ("assignment_expression", "left"),
    ("augmented_assignment", "left"),
    ("case_pattern", ""),
    ("catch_clause", "parameter"),
    ("catch_formal_parameter", "name"),
    ("class", "name"),
    ("class_declaration", "name"),
    ("class_definition", "name"),
    ("closure_parameters", ""),
    ("const_item", "name"),
    ("const_parameter", "name"),
    ("const_spec", "name"),
    ("constructor_declaration", "name"),
    ("default_parameter", "name"),
    ("delete_statement", ""),
    ("dictionary_splat_pattern", ""),
    ("enhanced_for_statement", "name"),
    ("enum_assignment", "name"),
    ("enum_body", ""),
    ("enum_constant", "name"),
    ("enum_declaration", "name"),
    ("enum_item", "name"),
    ("for_expression", "pattern"),
    ("for_in_clause", "left"),
    ("for_in_statement", "left"),
    ("for_statement", "left"),
    ("formal_parameter", "name"),
    ("formal_parameters", ""),
    ("function_declaration", "name"),
    ("function_definition", "name"),
    ("function_expression", "name"),
    ("function_item", "name"),
    ("function_signature", "name"),
    ("function_signature_item", "name"),
    ("generator_function", "name"),
    ("generator_function_declaration", "name"),
    ("global_statement", ""),
    ("inferred_parameters", ""),
    ("instanceof_expression", "name"),
    ("interface_declaration", "name"),
    ("internal_module", "name"),
    ("labeled_statement", ""),
    ("lambda_expression", "parameters"),
    ("lambda_parameters", ""),
    ("let_condition", "pattern"),
    ("let_declaration", "pattern"),
    ("macro_definition", "name"),
    ("match_pattern", ""),
    ("method_declaration", "name"),
    ("method_definition", "name"),
    ("mod_item", "name"),
    ("module", "name"),
    ("named_expression", "name"),
    ("nonlocal_statement", ""),
    ("optional_parameter", "pattern"),
    ("parameter", "pattern"),
    ("parameter_declaration", "name"),
    ("parameters", ""),
    ("range_clause", "left"),
    ("receive_statement", "left"),
    ("record_declaration", "name"),
    ("record_pattern_component", ""),
    ("required_parameter", "pattern"),
    ("resource", "name"),
    ("short_var_declaration", "left"),
    ("static_item", "name"),
    ("struct_item", "name"),
    ("trait_item", "name"),
    ("type_alias", "name"),
    ("type_alias_declaration", "name"),
    ("type_item", "name"),
    ("type_parameter", ""),
    ("type_parameter_declaration", "name"),
    ("type_pattern", ""),
    ("type_spec", "name"),
    ("type_switch_statement", "alias"),
    ("typed_default_parameter", "name"),
    ("typed_parameter", ""),
    ("union_item", "name"),
    ("update_expression", ""),
    ("var_spec", "name"),
    ("variable_declarator", "name"),
    ("variadic_parameter_declaration", "name"),
];

/// The fields by which nodes of a kind bind names; an empty one stands for all that is inside.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Binds {
    binder: Option<&'static str>,
    /// Field that is bound where the node itself is.
    pattern: Option<&'static str>,
    /// Set for a name.
    is_name: bool,
}

impl Binds {
    /// Returns what a kind of node binds.
    pub(crate) fn of(word: &str) -> Self {
        Self {
            binder: field_of(BINDERS, word),
            pattern: field_of(PATTERNS, word),
            is_name: word.ends_with("identifier") || word == "shorthand_property_identifier_pattern",
        }
    }
}

fn field_of(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    let row = table.binary_search_by(|(kind, _)| (*kind).cmp(word)).ok()?;
    Some(table[row].1)
}

/// A node above the current one.
#[derive(Clone, Copy)]
struct Level {
    binds: Binds,
    /// Set for a part of what binds a name.
    is_bound: bool,
}

/// Returns the names that a tree binds, but for those of imports. `is_import` leaves out a declaration that imports.
pub(super) fn bound<'t>(
    tree: &Tree,
    text: &'t str,
    is_import: &dyn Fn(Node<'_>) -> bool,
) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    let mut cursor = tree.walk();
    let mut above: Vec<Level> = Vec::new();
    loop {
        let node = cursor.node();
        let binds = node.properties().map(|kind| kind.binds).unwrap_or_default();
        let is_left_out = is_import(node);
        let is_bound = above.last().is_some_and(|level| level.binds(&cursor));
        if !is_left_out && is_bound && binds.is_name && node.child_count() == 0 {
            names.insert(span(node).of(text));
        }
        if !is_left_out && cursor.goto_first_child() {
            above.push(Level { binds, is_bound });
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return names;
            }
            above.pop();
        }
    }
}

impl Level {
    /// Returns whether the names in a child are bound.
    fn binds(self, child: &TreeCursor<'_>) -> bool {
        let pattern = self.binds.pattern.filter(|_| self.is_bound);
        let mut fields = self.binds.binder.into_iter().chain(pattern);
        fields.any(|field| field.is_empty() || child.field_name() == Some(field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(PATTERNS.is_sorted());
        assert!(BINDERS.is_sorted());
    }
}
