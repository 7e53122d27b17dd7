//! The checks for each form of expression, so that a place is held against those for its form and no other.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::site::{Check, Site};
use super::{
    assignments, asynchronous, branches, callees, comparisons, conditions, copies, definitions, errors,
    flows, late, loops, numbers, operands, results, secrets, swapped, texts, trust, units,
};
use qa_reading::expressions::{Form, Operator};

const EQUALITIES: &[&Check] = &[
    &comparisons::CASE,
    &comparisons::FRESH,
    &comparisons::IDENTITY,
    &comparisons::LENGTH,
    &comparisons::NAN,
    &comparisons::OTHER_TYPE,
    &comparisons::TYPE_WORD,
    &numbers::FLOAT_SUM,
    &numbers::SELF_COMPARED,
    &operands::NEGATED,
    &operands::SAME,
    &results::COMPARED,
];
const ORDERINGS: &[&Check] =
    &[&comparisons::LENGTH, &comparisons::NAN, &operands::CHAINED, &operands::NEGATED, &operands::SAME];
const MEMBERSHIPS: &[&Check] = &[&comparisons::CASE, &operands::NEGATED];
const CONJUNCTIONS: &[&Check] =
    &[&conditions::CONSTANT, &conditions::IMPOSSIBLE, &conditions::NULL_USED, &operands::REPEATED];
const DISJUNCTIONS: &[&Check] = &[
    &conditions::ALTERNATIVE,
    &conditions::ALWAYS,
    &conditions::CONCATENATED,
    &conditions::CONSTANT,
    &conditions::NULL_USED,
    &operands::REPEATED,
];
const FALLBACKS: &[&Check] = &[&conditions::CONCATENATED];
const BITS: &[&Check] =
    &[&conditions::NULL_USED_BITS, &operands::MASKED, &operands::NEGATED, &operands::POWER, &operands::SAME];
const ARITHMETIC: &[&Check] = &[&operands::SAME, &units::MOMENT];
const SUMS: &[&Check] = &[&units::MOMENT];
const REMAINDERS: &[&Check] = &[&operands::SAME, &texts::PERCENT];
const PRODUCTS: &[&Check] = &[&callees::SHARED_TIMES, &numbers::SQUARED];
const ASSIGNMENTS: &[&Check] =
    &[&assignments::NOTHING, &assignments::SELF, &assignments::UNIT, &swapped::CALLED];
const DECLARATIONS: &[&Check] = &[
    &assignments::UNIT,
    &callees::LOCK,
    &late::MAPPED,
    &late::NEVER_RUN,
    &numbers::QUOTIENT_DECLARED,
    &swapped::CALLED,
];
const PAIRS: &[&Check] = &[&assignments::UNIT];
const CHOICES: &[&Check] =
    &[&branches::CONDITION, &branches::IDENTICAL, &conditions::ASSIGNED, &conditions::CONCATENATED_CHOICE];
const SWITCHES: &[&Check] = &[&branches::CASE, &comparisons::CASE_LABEL, &conditions::LABEL, &flows::FALLS];
const RECORDS: &[&Check] = &[&branches::KEY];
const STATEMENTS: &[&Check] = &[&assignments::COPIED, &assignments::SWAP, &copies::BRANCH, &copies::COLUMN];
const LOOPS: &[&Check] = &[&flows::ONCE, &loops::RUNS_PAST, &loops::STEP];
const FUNCTIONS: &[&Check] = &[&definitions::DEFAULT, &late::CAPTURED, &definitions::FIXED];
/// Checks of nodes that have no form, by their kinds.
const OTHERS: &[&Check] =
    &[&flows::NEVER, &flows::ONCE, &loops::COUNTS_PAST, &numbers::QUOTIENT, &texts::RETURNED];
const MEMBERS: &[&Check] = &[&definitions::METHOD, &swapped::TRANSPOSED];
const DEFERS: &[&Check] = &[&callees::DEFERRED_LOCK, &loops::DEFER];
const CALLS: &[&Check] = &[
    &callees::LOCK,
    &errors::NOT_IMPLEMENTED,
    &late::CONDITION,
    &late::DROPPED,
    &results::DEAD,
    &results::ERROR,
    &swapped::SWAPPED,
    &swapped::TRANSPOSED,
    &texts::PREFIX,
];
const LISTS: &[&Check] = &[&texts::COMMA];

/// Checks of calls by the called name.
const NAMED: &[&Check] = &[
    &asynchronous::ARGUMENTS,
    &asynchronous::EXECUTOR,
    &asynchronous::FOR_EACH,
    &asynchronous::PREDICATE,
    &callees::DATE,
    &callees::DURATION,
    &callees::HOLES,
    &callees::JOIN,
    &callees::LIST,
    &callees::NAIVE,
    &callees::PARSE_INT,
    &callees::SHARED,
    &callees::SORT,
    &callees::STRIP,
    &assignments::UNIT_CALL,
    &comparisons::CASE_CALL,
    &comparisons::NULL_EQUALS,
    &comparisons::POSITION,
    &loops::PAST_END_CALL,
    &texts::BACKTRACKING_CALL,
    &late::REDUCED,
    &numbers::BOOLEAN_ORDER,
    &numbers::NUMBER_EQUALS,
    &numbers::QUOTIENT_CALL,
    &numbers::SELF_EQUALS,
    &numbers::SORTED_LENGTHS,
    &secrets::WEAK,
    &texts::FORMAT,
    &trust::PIECE,
    &units::MADE,
    &comparisons::REFERENCE,
];

fn named(name: &str) -> &'static [&'static Check] {
    static BY_NAME: LazyLock<BTreeMap<&'static str, Vec<&'static Check>>> = LazyLock::new(|| {
        let mut by_name: BTreeMap<&str, Vec<&Check>> = BTreeMap::new();
        for check in NAMED {
            for name in check.names {
                let same = by_name.entry(name).or_default();
                if !same.iter().any(|known| std::ptr::eq(*known, *check)) {
                    same.push(check);
                }
            }
        }
        by_name
    });
    BY_NAME.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the checks for the form of a place.
pub(super) fn checks(site: &Site<'_>) -> impl Iterator<Item = &'static Check> {
    let (by_form, by_name): (&[&Check], &[&Check]) = match &site.form {
        Form::Assert => (&[&errors::TUPLE], &[]),
        Form::Assign { .. } => (ASSIGNMENTS, &[]),
        Form::Await(_) => (&[&asynchronous::LIST], &[]),
        Form::Binary { operator, .. } => (by_operator(*operator), &[]),
        Form::Call { name, .. } => (CALLS, named(name)),
        Form::Choice => (CHOICES, &[]),
        Form::Class => (&[&definitions::HASH], &[]),
        Form::Declare { .. } => (DECLARATIONS, &[]),
        Form::Defer(_) => (DEFERS, &[]),
        Form::Finally => (&[&errors::FINALLY], &[]),
        Form::For => (LOOPS, &[]),
        Form::Function => (FUNCTIONS, &[]),
        Form::Handler => (&[&errors::EITHER], &[]),
        Form::Index { .. } => (&[&loops::PAST_END], &[]),
        Form::List | Form::Tuple => (LISTS, &[]),
        Form::Member { .. } => (MEMBERS, &[]),
        Form::Other => (OTHERS, &[]),
        Form::Pair { .. } => (PAIRS, &[]),
        Form::Record => (RECORDS, &[]),
        Form::Regex => (&[&texts::BACKTRACKING], &[]),
        Form::Statements => (STATEMENTS, &[]),
        Form::Switch => (SWITCHES, &[]),
        Form::Throw => (&[&errors::NOT_IMPLEMENTED], &[]),
        Form::Chain
        | Form::Character(_)
        | Form::Name(_)
        | Form::Null
        | Form::Number(_)
        | Form::Statement(_)
        | Form::Template
        | Form::Text(_)
        | Form::Truth(_)
        | Form::Unary { .. }
        | Form::Update(_) => (&[], &[]),
    };
    by_form.iter().chain(by_name).copied()
}

fn by_operator(operator: Operator) -> &'static [&'static Check] {
    match operator {
        Operator::And => CONJUNCTIONS,
        Operator::BitAnd | Operator::BitOr | Operator::BitXor => BITS,
        Operator::Coalesce => FALLBACKS,
        Operator::Divide | Operator::Minus => ARITHMETIC,
        Operator::Equal | Operator::Identical | Operator::NotEqual | Operator::NotIdentical => EQUALITIES,
        Operator::Greater | Operator::GreaterEqual | Operator::Less | Operator::LessEqual => ORDERINGS,
        Operator::In | Operator::InstanceOf | Operator::NotIn => MEMBERSHIPS,
        Operator::Or => DISJUNCTIONS,
        Operator::Other => PRODUCTS,
        Operator::Plus => SUMS,
        Operator::Remainder => REMAINDERS,
    }
}
