//! Severities of SARIF's results and notifications: by their own level, an override of an invocation, or their descriptor.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{child, list_or_empty, object, optional_index, optional_string};
use crate::report::{DiagnosticSeverity, ReportError};

/// Maximum number of components that an id has beyond that of its descriptor.
const MAX_COMPONENTS: usize = 8;

/// Members of a tool and its invocations that have descriptors of one kind.
pub(super) struct DescriptorKind {
    list: &'static str,
    overrides: &'static str,
}

/// Descriptors of results.
pub(super) const RULES: DescriptorKind =
    DescriptorKind { list: "rules", overrides: "ruleConfigurationOverrides" };
/// Descriptors of notifications.
pub(super) const NOTIFICATIONS: DescriptorKind =
    DescriptorKind { list: "notifications", overrides: "notificationConfigurationOverrides" };

/// Positions by a text that identifies them; `None` for a text that stands twice.
type Index<'a> = BTreeMap<&'a str, Option<usize>>;

/// Position of a descriptor in the components of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    component: usize,
    descriptor: usize,
}

/// Descriptors of the driver or an extension.
struct Component<'a> {
    descriptors: &'a [Value],
    ids: Index<'a>,
    guids: Index<'a>,
}

/// Descriptors of a run and what its invocations change about them.
pub(super) struct Descriptors<'a> {
    /// The driver and, behind it, the extensions.
    components: Vec<Component<'a>>,
    names: Index<'a>,
    guids: Index<'a>,
    invocations: usize,
    /// Overrides by invocation.
    overrides: BTreeMap<(usize, Position), DiagnosticSeverity>,
    /// The most severe override of any invocation.
    strictest: BTreeMap<Position, DiagnosticSeverity>,
    /// True if an override to an error is of a descriptor that is not found.
    has_lost_error: bool,
}

impl<'a> Descriptors<'a> {
    pub(super) fn new(run: &'a Value, kind: &DescriptorKind) -> Result<Self, ReportError> {
        let tool = child(run, "tool")?;
        let extensions = list_or_empty(tool, "extensions")?.iter();
        let tools: Vec<&Value> = std::iter::once(child(tool, "driver")?).chain(extensions).collect();
        let components = tools.iter().map(|tool| Component::new(tool, kind)).collect::<Result<_, _>>()?;
        let invocations = list_or_empty(run, "invocations")?;
        let mut descriptors = Self {
            components,
            names: index(tools.iter().copied(), "name")?,
            guids: index(tools.iter().copied(), "guid")?,
            invocations: invocations.len(),
            overrides: BTreeMap::new(),
            strictest: BTreeMap::new(),
            has_lost_error: false,
        };
        for (position, invocation) in invocations.iter().enumerate() {
            for change in list_or_empty(invocation, kind.overrides)? {
                descriptors.add_override(position, change)?;
            }
        }
        Ok(descriptors)
    }

    fn add_override(&mut self, invocation: usize, change: &Value) -> Result<(), ReportError> {
        let Some(severity) = configured(child(change, "configuration")?)? else { return Ok(()) };
        match self.find(child(change, "descriptor")?, None, None)? {
            Some(position) => {
                insert_strictest(&mut self.overrides, (invocation, position), severity);
                insert_strictest(&mut self.strictest, position, severity);
            }
            None => self.has_lost_error |= severity == DiagnosticSeverity::Error,
        }
        Ok(())
    }

    /// Returns the descriptor at a position.
    pub(super) fn get(&self, position: Position) -> &'a Value {
        &self.components[position.component].descriptors[position.descriptor]
    }

    /// Finds the rule of a result, whose own members complete its reference.
    pub(super) fn find_rule(&self, result: &'a Value) -> Result<Option<Position>, ReportError> {
        let reference = result.get("rule").unwrap_or(&Value::Null);
        self.find(reference, optional_string(result, "ruleId")?, optional_index(result, "ruleIndex")?)
    }

    /// Finds the descriptor of a notification.
    pub(super) fn find_descriptor(&self, notification: &'a Value) -> Result<Option<Position>, ReportError> {
        self.find(notification.get("descriptor").unwrap_or(&Value::Null), None, None)
    }

    /// Finds a descriptor: by its index, its GUID, or else its id. Returns `None` also where these contradict each other.
    fn find(
        &self,
        reference: &Value,
        id: Option<&str>,
        index: Option<usize>,
    ) -> Result<Option<Position>, ReportError> {
        let Some(component) = self.find_component(reference)? else { return Ok(None) };
        let listed = &self.components[component];
        let (own_id, own_index) = (optional_string(reference, "id")?, optional_index(reference, "index")?);
        if contradict(id, own_id) || contradict(index, own_index) {
            return Ok(None);
        }
        let (id, guid) = (id.or(own_id), optional_string(reference, "guid")?);
        let descriptor = match (index.or(own_index), guid, id) {
            (Some(index), _, _) => Some(index).filter(|&index| index < listed.descriptors.len()),
            (None, Some(guid), _) => listed.guids.get(guid).copied().flatten(),
            (None, None, Some(id)) => listed.find_id(id),
            (None, None, None) => None,
        };
        let found = descriptor.filter(|&descriptor| is_for(id, guid, &listed.descriptors[descriptor]));
        Ok(found.map(|descriptor| Position { component, descriptor }))
    }

    fn find_component(&self, reference: &Value) -> Result<Option<usize>, ReportError> {
        let component = reference.get("toolComponent").unwrap_or(&Value::Null);
        let named = optional_string(component, "name")?;
        if let Some(index) = optional_index(component, "index")? {
            let position = index.saturating_add(1);
            return Ok(Some(position).filter(|&position| position < self.components.len()));
        }
        Ok(match (optional_string(component, "guid")?, named) {
            (Some(guid), _) => self.guids.get(guid).copied().flatten(),
            (None, Some(name)) => self.names.get(name).copied().flatten(),
            (None, None) => Some(0),
        })
    }

    /// Returns the severity of a result or a notification, whose level is found as SARIF's section 3.27.10 says. An item
    /// without a level counts as an error if its descriptor is not found, and by the strictest invocation if it names none.
    pub(super) fn severity(
        &self,
        item: &Value,
        descriptor: Option<Position>,
        invocation: Option<usize>,
    ) -> Result<DiagnosticSeverity, ReportError> {
        if let Some(level) = optional_string(item, "level")? {
            return severity(level);
        }
        let Some(position) = descriptor.filter(|_| !self.has_lost_error) else {
            return Ok(DiagnosticSeverity::Error);
        };
        let default = match self.get(position).get("defaultConfiguration") {
            Some(configuration) if !configuration.is_null() => configured(configuration)?,
            Some(_) | None => None,
        };
        let default = default.unwrap_or(DiagnosticSeverity::Warning);
        // An invocation that is not there is none in particular.
        Ok(match invocation.filter(|&invocation| invocation < self.invocations) {
            Some(invocation) => self.overrides.get(&(invocation, position)).copied().unwrap_or(default),
            None => self.strictest.get(&position).map_or(default, |&strictest| strictest.min(default)),
        })
    }
}

impl<'a> Component<'a> {
    fn new(tool: &'a Value, kind: &DescriptorKind) -> Result<Self, ReportError> {
        let descriptors = list_or_empty(object(tool, "a component of the tool")?, kind.list)?;
        Ok(Self {
            descriptors,
            ids: index(descriptors.iter(), "id")?,
            guids: index(descriptors.iter(), "guid")?,
        })
    }

    /// Finds the descriptor of an id, which may have further components: `CA1000/1` is of `CA1000`.
    fn find_id(&self, id: &str) -> Option<usize> {
        let shorter = std::iter::successors(Some(id), |id| Some(id.rsplit_once('/')?.0));
        shorter.take(MAX_COMPONENTS).find_map(|id| self.ids.get(id).copied())?
    }
}

/// Returns the positions of items by a member.
fn index<'a>(items: impl Iterator<Item = &'a Value>, member: &str) -> Result<Index<'a>, ReportError> {
    let mut index = Index::new();
    for (position, item) in items.enumerate() {
        if let Some(text) = optional_string(item, member)? {
            index.entry(text).and_modify(|known| *known = None).or_insert(Some(position));
        }
    }
    Ok(index)
}

fn contradict<T: PartialEq>(left: Option<T>, right: Option<T>) -> bool {
    left.is_some() && right.is_some() && left != right
}

/// Returns whether a descriptor is one for an id and a GUID.
fn is_for(id: Option<&str>, guid: Option<&str>, descriptor: &Value) -> bool {
    let own_id = descriptor.get("id").and_then(Value::as_str).unwrap_or_default();
    let has_id = match id {
        Some(id) => id.strip_prefix(own_id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None => true,
    };
    has_id && !contradict(guid, descriptor.get("guid").and_then(Value::as_str))
}

fn insert_strictest<K: Ord>(
    severities: &mut BTreeMap<K, DiagnosticSeverity>,
    key: K,
    severity: DiagnosticSeverity,
) {
    let strictest = severities.entry(key).or_insert(severity);
    *strictest = severity.min(*strictest);
}

/// Returns the severity that a configuration states.
fn configured(configuration: &Value) -> Result<Option<DiagnosticSeverity>, ReportError> {
    optional_string(object(configuration, "a configuration")?, "level")?.map(severity).transpose()
}

/// Returns the severity of a level.
pub(super) fn severity(level: &str) -> Result<DiagnosticSeverity, ReportError> {
    match level {
        "error" => Ok(DiagnosticSeverity::Error),
        "warning" | "note" | "none" => Ok(DiagnosticSeverity::Warning),
        other => Err(ReportError::unreadable(format!("`level` is {other:?}"))),
    }
}
