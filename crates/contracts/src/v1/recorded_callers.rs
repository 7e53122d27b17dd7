//! The lenses' recorded lookups of what a file defines and how it uses names of other files, so that a replay can tell
//! again which callers a change breaks.

use serde::{Deserialize, Serialize};

use super::{PlacedName, Side};

/// The definitions of a file that other files may refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModuleSurface {
    /// The package or namespace that the file says it belongs to.
    pub package: Option<String>,
    /// The definitions, in the order of the text.
    pub definitions: Vec<Definition>,
    /// True if there may be names that are not listed.
    pub open: bool,
    /// True if a build may leave the file out.
    pub conditional: bool,
}

/// Kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DefinitionKind {
    /// A function or a method.
    Function,
    /// A name that an import gives to the file.
    Imported,
    /// A module inside of the file, or a file that it declares.
    Module,
    /// A class, an interface or another type.
    Type,
    /// A constant, a variable or a field.
    Value,
    /// A member of an enumeration.
    Variant,
}

/// A definition with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Definition {
    /// The name.
    pub name: PlacedName,
    /// The type that it is a member of.
    pub owner: Option<String>,
    /// Kind of the definition.
    pub kind: DefinitionKind,
    /// True if files of other packages may use it.
    pub public: bool,
    /// True if it is a member that no other file may use.
    pub hidden: bool,
    /// True if it is a method that belongs to its type and not to objects of that.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// True if it may have members that are not listed, or be something else than its text says.
    pub open: bool,
    /// Parameters of a function, or of a type's only constructor; null where they are not certain.
    pub signature: Option<Signature>,
}

/// Parameters of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Signature {
    /// The parameters in their order.
    pub parameters: Vec<Parameter>,
    /// True if more positional arguments than parameters may be passed.
    pub any_positional: bool,
    /// True if arguments of any name may be passed.
    pub any_named: bool,
}

/// The ways to pass a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Passing {
    /// By position or by name.
    Either,
    /// By name alone.
    Name,
    /// By position alone.
    Position,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parameter {
    /// The name; empty where it has none.
    pub name: String,
    /// True if a call may leave it out.
    pub optional: bool,
    /// The ways to pass it.
    pub passing: Passing,
}

/// Arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallArguments {
    /// Number of positional arguments.
    pub positional: u32,
    /// Names of the other arguments, in their order.
    pub named: Vec<String>,
}

impl Signature {
    /// Returns whether a call may pass these arguments.
    pub fn accepts(&self, arguments: &CallArguments) -> bool {
        let mut positional = arguments.positional;
        for parameter in &self.parameters {
            let by_position = parameter.passing != Passing::Name && positional > 0;
            positional -= u32::from(by_position);
            let by_name = parameter.passing != Passing::Position && arguments.named.contains(&parameter.name);
            // An argument passed twice is left to who wrote the call.
            if !by_position && !by_name && !parameter.optional {
                return false;
            }
        }
        (positional == 0 || self.any_positional)
            && (self.any_named || arguments.named.iter().all(|name| self.has_named(name)))
    }

    /// Returns whether a parameter may be passed by a name.
    fn has_named(&self, name: &str) -> bool {
        self.parameters.iter().any(|each| each.passing != Passing::Position && each.name == name)
    }
}

/// A use of a name that the file itself does not define.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedUse {
    /// The imported module that the path begins in, as the language writes it; null for the file's own package.
    pub module: Option<String>,
    /// The names from there to the used one.
    pub path: Vec<String>,
    /// The used name with its place.
    pub name: PlacedName,
    /// True if an import statement names it.
    pub imported: bool,
    /// True if it is called.
    pub called: bool,
    /// True if it is a member of an object, whose type begins the path.
    pub of_object: bool,
    /// Arguments of the call; null where their number is not certain.
    pub arguments: Option<CallArguments>,
}

/// The definitions of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedSurface {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Path of the file.
    pub path: String,
    /// The definitions; null when it is no regular file that could be read.
    pub surface: Option<ModuleSurface>,
}

/// The uses of some words in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedUses {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Path of the file.
    pub path: String,
    /// The words, sorted.
    pub words: Vec<String>,
    /// The uses that cannot fail unnoticed, in the order of the text; null when it is no regular file that could be read.
    pub uses: Option<Vec<PlacedUse>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(text: &str) -> Parameter {
        let optional = text.ends_with('?');
        let name = text.trim_end_matches('?');
        let passing = match name.as_bytes()[0] {
            b'-' => Passing::Name,
            b'/' => Passing::Position,
            _ => Passing::Either,
        };
        Parameter { name: name.trim_start_matches(['-', '/']).to_owned(), optional, passing }
    }

    #[test]
    fn a_call_fits_the_parameters_that_it_names_or_counts() {
        let cases: &[(&[&str], u32, &[&str], bool)] = &[
            (&["a", "b"], 2, &[], true),
            (&["a", "b"], 1, &[], false),
            (&["a", "b"], 3, &[], false),
            (&["a", "b"], 1, &["b"], true),
            (&["a", "b"], 0, &["b", "a"], true),
            (&["a", "b"], 1, &["c"], false),
            (&["a", "b?"], 1, &[], true),
            (&["a", "b?"], 1, &["c"], false),
            (&["a", "-b"], 2, &[], false),
            (&["a", "-b"], 1, &["b"], true),
            (&["a", "-b?"], 1, &[], true),
            (&["/a"], 0, &["a"], false),
            (&["/a"], 1, &[], true),
            (&[], 0, &[], true),
        ];
        for (parameters, positional, named, fits) in cases {
            let signature = Signature {
                parameters: parameters.iter().map(|text| parameter(text)).collect(),
                ..Signature::default()
            };
            let named = named.iter().map(|name| (*name).to_owned()).collect();
            let arguments = CallArguments { positional: *positional, named };
            assert_eq!(signature.accepts(&arguments), *fits, "{parameters:?} {arguments:?}");
        }
        let any = Signature { any_positional: true, any_named: true, ..Signature::default() };
        assert!(any.accepts(&CallArguments { positional: 9, named: vec!["x".to_owned()] }));
    }
}
