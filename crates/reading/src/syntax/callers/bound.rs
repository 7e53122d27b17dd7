//! Names that a file binds by anything but an import, wherever: none of them surely means what another file defines.

use std::collections::{BTreeMap, BTreeSet};

use super::super::walk::span;
use crate::tree::{Node, Tree, TreeCursor};

/// Parts of patterns, which bind where the pattern does. Those with a field bind by it alone; a bar stands between fields,
/// and a hyphen for children without one.
const PATTERNS: &[(&str, &str)] = &[
    ("array_creation_expression", ""),
    ("array_element_initializer", ""),
    ("array_pattern", ""),
    ("assignment_pattern", "left"),
    ("captured_pattern", ""),
    ("expression_list", ""),
    ("field_pattern", ""),
    ("list", ""),
    ("list_literal", ""),
    ("list_pattern", ""),
    ("list_splat_pattern", ""),
    ("mut_pattern", ""),
    ("object_assignment_pattern", "left"),
    ("object_pattern", ""),
    ("or_pattern", ""),
    ("pair", ""),
    ("pair_pattern", "value"),
    ("parenthesized_variable_designation", ""),
    ("pattern_list", ""),
    ("ref_pattern", ""),
    ("reference_pattern", ""),
    ("rest_pattern", ""),
    ("slice_pattern", ""),
    ("struct_pattern", ""),
    ("tuple", ""),
    ("tuple_expression", ""),
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
    ("catch_clause", "name|parameter"),
    ("catch_declaration", "name"),
    ("catch_formal_parameter", "name"),
    ("class", "name"),
    ("class_declaration", "name"),
    ("class_definition", "name"),
    ("closure_parameters", ""),
    ("const_element", "-"),
    ("const_item", "name"),
    ("const_parameter", "name"),
    ("const_spec", "name"),
    ("constructor_declaration", "name"),
    ("declaration_expression", "name"),
    ("declaration_pattern", "name"),
    ("default_parameter", "name"),
    ("delegate_declaration", "name"),
    ("delete_statement", ""),
    ("dictionary_splat_pattern", ""),
    ("enhanced_for_statement", "name"),
    ("enum_assignment", "name"),
    ("enum_body", ""),
    ("enum_constant", "name"),
    ("enum_declaration", "name"),
    ("enum_item", "name"),
    ("enum_member_declaration", "name"),
    ("for_expression", "pattern"),
    ("for_in_clause", "left"),
    ("for_in_statement", "left"),
    ("for_statement", "left"),
    ("foreach_statement", "left|-"),
    ("formal_parameter", "name"),
    ("formal_parameters", ""),
    ("from_clause", "name"),
    ("function_declaration", "name"),
    ("function_definition", "name"),
    ("function_expression", "name"),
    ("function_item", "name"),
    ("function_signature", "name"),
    ("function_signature_item", "name"),
    ("generator_function", "name"),
    ("generator_function_declaration", "name"),
    ("global_declaration", ""),
    ("global_statement", ""),
    ("implicit_parameter", ""),
    ("inferred_parameters", ""),
    ("instanceof_expression", "name"),
    ("interface_declaration", "name"),
    ("internal_module", "name"),
    ("join_clause", "-"),
    ("labeled_statement", ""),
    ("lambda_expression", "parameters"),
    ("lambda_parameters", ""),
    ("let_clause", "name"),
    ("let_condition", "pattern"),
    ("let_declaration", "pattern"),
    ("local_function_statement", "name"),
    ("macro_definition", "name"),
    ("match_pattern", ""),
    ("method_declaration", "name"),
    ("method_definition", "name"),
    ("mod_item", "name"),
    ("module", "name"),
    ("named_expression", "name"),
    ("nonlocal_statement", ""),
    ("optional_parameter", "pattern"),
    ("parameter", "name|pattern"),
    ("parameter_declaration", "name"),
    ("parameters", ""),
    ("property_declaration", "name"),
    ("property_element", "name"),
    ("property_promotion_parameter", "name"),
    ("range_clause", "left"),
    ("receive_statement", "left"),
    ("record_declaration", "name"),
    ("record_pattern_component", ""),
    ("recursive_pattern", "name"),
    ("required_parameter", "pattern"),
    ("resource", "name"),
    ("short_var_declaration", "left"),
    ("simple_parameter", "name"),
    ("static_item", "name"),
    ("static_variable_declaration", "name"),
    ("struct_declaration", "name"),
    ("struct_item", "name"),
    ("trait_declaration", "name"),
    ("trait_item", "name"),
    ("tuple_element", "name"),
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
    ("var_pattern", ""),
    ("var_spec", "name"),
    ("variable_declarator", "name"),
    ("variadic_parameter", "name"),
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
            is_name: word.ends_with("identifier")
                || matches!(
                    word,
                    "implicit_parameter" | "name" | "shorthand_property_identifier_pattern" | "variable_name"
                ),
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
        if !is_left_out && is_bound && binds.is_name && is_whole_name(node) {
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

/// Returns whether a node is a name and no part of one. A variable of PHP is one with its sign.
fn is_whole_name(node: Node<'_>) -> bool {
    node.child_count() == 0 || node.word() == "variable_name"
}

impl Level {
    /// Returns whether the names in a child are bound.
    fn binds(self, child: &TreeCursor<'_>) -> bool {
        // The type that a pattern takes apart, and a field that it has under another name, are no names of its own.
        let is_named = child.field_name() == Some("type") || child.node().word() == "field_identifier";
        let pattern = self.binds.pattern.filter(|_| self.is_bound && !is_named);
        let mut fields = self.binds.binder.into_iter().chain(pattern);
        fields.any(|fields| fields.is_empty() || has_field(fields, child.field_name()))
    }
}

fn has_field(fields: &str, own: Option<&str>) -> bool {
    fields.split('|').any(|field| field == own.unwrap_or("-"))
}

/// A place that binds a name.
pub(super) struct BoundName<'t> {
    /// The declaration, the parameter or the assignment.
    pub(super) binder: Node<'t>,
    /// The node around the binder.
    pub(super) holder: Option<Node<'t>>,
    /// False where the name is one of several, or a part of a pattern.
    pub(super) is_whole: bool,
    /// Set where a function stands between the scope and the binder.
    pub(super) is_in_function: bool,
}

/// Returns the places below a node that bind names, by the name and in the order of the text.
pub(super) fn bound_names<'t>(
    scope: Node<'t>,
    text: &'t str,
    functions: &[&str],
) -> BTreeMap<&'t str, Vec<BoundName<'t>>> {
    let mut found: BTreeMap<&'t str, Vec<BoundName<'t>>> = BTreeMap::new();
    let mut functions_around = 0;
    let mut cursor = scope.walk();
    let mut above: Vec<(Node<'t>, Level)> = Vec::new();
    loop {
        let node = cursor.node();
        crate::work::count();
        let binds = node.properties().map(|kind| kind.binds).unwrap_or_default();
        let is_bound = above.last().is_some_and(|(_, level)| level.binds(&cursor));
        if is_bound && binds.is_name && is_whole_name(node) {
            // The nodes between are the patterns that the binder binds by.
            if let Some(at) = above.iter().rposition(|(_, level)| level.binds.binder.is_some()) {
                found.entry(span(node).of(text)).or_default().push(BoundName {
                    binder: above[at].0,
                    holder: at.checked_sub(1).map(|outer| above[outer].0),
                    is_whole: above[at + 1..].iter().all(|(pattern, _)| pattern.named_child_count() == 1),
                    is_in_function: functions_around > 0,
                });
            }
        }
        if cursor.goto_first_child() {
            functions_around += usize::from(node != scope && functions.contains(&node.word()));
            above.push((node, Level { binds, is_bound }));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
            if let Some((left, _)) = above.pop() {
                functions_around -= usize::from(left != scope && functions.contains(&left.word()));
            }
        }
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
