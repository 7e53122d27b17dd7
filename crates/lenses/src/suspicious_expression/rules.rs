//! The rules of the lens: what each is called, weighs and advises.

use crate::contract::{RuleSpec, everywhere, presets, text_rule};
use qa_contracts::v1::{PresetStrengths, ScopeStrengths, Severity, Strength};

const OFF: ScopeStrengths = everywhere(Strength::Off);
const PRODUCT: ScopeStrengths = ScopeStrengths { product: Strength::Advise, ..OFF };
const ADVISED: PresetStrengths = presets(PRODUCT, PRODUCT);
/// Certain enough to block in `guarded`.
const CERTAIN: PresetStrengths = presets(PRODUCT, ScopeStrengths { product: Strength::Block, ..OFF });
pub(super) const ABSOLUTE_PART: &str = "suspicious-expression/absolute-part-joined";
pub(super) const ADDRESS_PIECE: &str = "suspicious-expression/address-piece-trusted";
pub(super) const ALWAYS_TRUE: &str = "suspicious-expression/always-true-condition";
pub(super) const ASSERTED_TUPLE: &str = "suspicious-expression/asserted-tuple";
pub(super) const ASSIGNED_CONDITION: &str = "suspicious-expression/assigned-condition";
pub(super) const ASYNC_EXECUTOR: &str = "suspicious-expression/async-executor";
pub(super) const ASYNC_FOR_EACH: &str = "suspicious-expression/async-for-each";
pub(super) const ASYNC_PREDICATE: &str = "suspicious-expression/async-predicate";
pub(super) const AWAITED_LIST: &str = "suspicious-expression/awaited-list";
pub(super) const BACKTRACKING: &str = "suspicious-expression/backtracking-regex";
pub(super) const BARE_DURATION: &str = "suspicious-expression/bare-duration";
pub(super) const CAUGHT_EITHER: &str = "suspicious-expression/caught-either";
pub(super) const CHAINED_COMPARISON: &str = "suspicious-expression/chained-comparison";
pub(super) const CHANGED_IN_PLACE: &str = "suspicious-expression/changed-in-place";
pub(super) const CONCATENATED_CONDITION: &str = "suspicious-expression/concatenated-condition";
pub(super) const CONSTANT_OPERAND: &str = "suspicious-expression/constant-operand";
pub(super) const COPIED_LINE: &str = "suspicious-expression/copied-line";
pub(super) const DATE_LETTERS: &str = "suspicious-expression/date-letters";
pub(super) const DEAD_COMPARISON: &str = "suspicious-expression/dead-comparison";
pub(super) const DEAD_ERROR: &str = "suspicious-expression/dead-error";
pub(super) const DEAD_RESULT: &str = "suspicious-expression/dead-result";
pub(super) const DEFER_IN_LOOP: &str = "suspicious-expression/defer-in-loop";
pub(super) const DUPLICATE_CASE: &str = "suspicious-expression/duplicate-case";
pub(super) const DUPLICATE_CONDITION: &str = "suspicious-expression/duplicate-condition";
pub(super) const DUPLICATE_KEY: &str = "suspicious-expression/duplicate-key";
pub(super) const EQUALS_NULL: &str = "suspicious-expression/equals-null";
pub(super) const EQUALS_WITHOUT_HASH: &str = "suspicious-expression/equals-without-hash";
pub(super) const FINALLY_OVERRIDES: &str = "suspicious-expression/finally-overrides";
pub(super) const FORMAT_ARGUMENTS: &str = "suspicious-expression/format-arguments";
pub(super) const FRESH_OBJECT: &str = "suspicious-expression/fresh-object-compared";
pub(super) const IDENTICAL_BRANCHES: &str = "suspicious-expression/identical-branches";
pub(super) const IMPOSSIBLE_CONDITION: &str = "suspicious-expression/impossible-condition";
pub(super) const INDEX_PAST_END: &str = "suspicious-expression/index-past-end";
pub(super) const JOINED_ARGUMENTS: &str = "suspicious-expression/joined-arguments";
pub(super) const LENGTH_SIGN: &str = "suspicious-expression/length-sign";
pub(super) const LIST_FOR_TUPLE: &str = "suspicious-expression/list-for-tuple";
pub(super) const LITERAL_ALTERNATIVE: &str = "suspicious-expression/literal-alternative";
pub(super) const LITERAL_IDENTITY: &str = "suspicious-expression/literal-identity";
pub(super) const LOCK_NOT_HELD: &str = "suspicious-expression/lock-not-held";
pub(super) const LOOP_STEP: &str = "suspicious-expression/loop-step";
pub(super) const LOST_SWAP: &str = "suspicious-expression/lost-swap";
pub(super) const MAPPED_HOLES: &str = "suspicious-expression/mapped-holes";
pub(super) const MAPPED_PARSE_INT: &str = "suspicious-expression/mapped-parse-int";
pub(super) const MASKED_COMPARISON: &str = "suspicious-expression/masked-comparison";
pub(super) const METHOD_AS_CONDITION: &str = "suspicious-expression/method-as-condition";
pub(super) const MISSING_COMMA: &str = "suspicious-expression/missing-comma";
pub(super) const MISSING_INTERPOLATION: &str = "suspicious-expression/missing-interpolation";
pub(super) const MUTABLE_DEFAULT: &str = "suspicious-expression/mutable-default";
pub(super) const NAIVE_DATE: &str = "suspicious-expression/naive-date";
pub(super) const NAN_COMPARED: &str = "suspicious-expression/nan-compared";
pub(super) const NEGATED_OPERAND: &str = "suspicious-expression/negated-operand";
pub(super) const NULL_DEREFERENCED: &str = "suspicious-expression/null-dereferenced";
pub(super) const OTHER_CASE: &str = "suspicious-expression/other-case";
pub(super) const OTHER_TYPE: &str = "suspicious-expression/other-type";
pub(super) const POSITION_AS_TRUTH: &str = "suspicious-expression/position-as-truth";
pub(super) const RAISED_NOT_IMPLEMENTED: &str = "suspicious-expression/raised-not-implemented";
pub(super) const SAME_OPERAND: &str = "suspicious-expression/same-operand";
pub(super) const SELF_ASSIGNMENT: &str = "suspicious-expression/self-assignment";
pub(super) const SHARED_VALUE: &str = "suspicious-expression/shared-value";
pub(super) const SORTED_NUMBERS: &str = "suspicious-expression/sorted-numbers";
pub(super) const STRIPPED_CHARACTERS: &str = "suspicious-expression/stripped-characters";
pub(super) const TYPE_WORD: &str = "suspicious-expression/type-word";
pub(super) const UNIT_MISMATCH: &str = "suspicious-expression/unit-mismatch";
pub(super) const XOR_AS_POWER: &str = "suspicious-expression/xor-as-power";

/// Every rule, by id.
pub(super) const ALL: &[RuleSpec] = &[
    text_rule(
        ABSOLUTE_PART,
        "Path before an absolute part is dropped",
        Severity::Medium,
        CERTAIN,
        "Remove the leading slash of the part.",
    ),
    text_rule(
        ADDRESS_PIECE,
        "Address is trusted by a piece of it",
        Severity::High,
        ADVISED,
        "Parse the address, and compare its host as a whole.",
    ),
    text_rule(
        ALWAYS_TRUE,
        "Condition always holds by its own operands",
        Severity::High,
        CERTAIN,
        "Join the comparisons with `and`, or compare with the value that is meant.",
    ),
    text_rule(
        ASSERTED_TUPLE,
        "Tuple is asserted, which is always true",
        Severity::High,
        CERTAIN,
        "Remove the parentheses.",
    ),
    text_rule(
        ASSIGNED_CONDITION,
        "Literal is assigned in a condition",
        Severity::High,
        CERTAIN,
        "Compare with `==`, or assign before the condition.",
    ),
    text_rule(
        ASYNC_EXECUTOR,
        "Executor of a promise is asynchronous",
        Severity::Medium,
        ADVISED,
        "Write an `async` function and return its promise, or make the executor synchronous.",
    ),
    text_rule(
        ASYNC_FOR_EACH,
        "Asynchronous callback in `forEach`",
        Severity::Medium,
        ADVISED,
        "Use `for (… of …)` with `await`, or `await Promise.all(list.map(…))`.",
    ),
    text_rule(
        ASYNC_PREDICATE,
        "Asynchronous callback where a truth value is wanted",
        Severity::High,
        CERTAIN,
        "Await the answers first, and decide by their values.",
    ),
    text_rule(
        AWAITED_LIST,
        "List is awaited in place of its promises",
        Severity::High,
        CERTAIN,
        "Await `Promise.all(list)` or `asyncio.gather(*list)`.",
    ),
    text_rule(
        BACKTRACKING,
        "Regular expression with exponential backtracking",
        Severity::Medium,
        ADVISED,
        "Write the inner or the outer repetition without the other.",
    ),
    text_rule(
        BARE_DURATION,
        "Duration without a unit",
        Severity::High,
        CERTAIN,
        "Multiply by a unit, such as `time.Second`.",
    ),
    text_rule(
        CAUGHT_EITHER,
        "Exception types are joined by `or`",
        Severity::High,
        CERTAIN,
        "List the types in a tuple, or with commas in Ruby.",
    ),
    text_rule(
        CHAINED_COMPARISON,
        "Comparisons in a row compare a truth value",
        Severity::High,
        CERTAIN,
        "Write two comparisons joined by `&&`.",
    ),
    text_rule(
        CHANGED_IN_PLACE,
        "Result of a call that changes in place is assigned",
        Severity::High,
        ADVISED,
        "Call it as a statement.",
    ),
    text_rule(
        CONCATENATED_CONDITION,
        "Joined text is used as a condition",
        Severity::High,
        CERTAIN,
        "Put the operand with its fallback in parentheses.",
    ),
    text_rule(
        CONSTANT_OPERAND,
        "Literal decides a condition",
        Severity::Medium,
        ADVISED,
        "Remove the literal, or the condition that it decides.",
    ),
    text_rule(
        COPIED_LINE,
        "Copied line still has the value of the line before",
        Severity::High,
        CERTAIN,
        "Assign the parameter that the field is named after.",
    ),
    text_rule(
        DATE_LETTERS,
        "Letters of a date format stand for another part",
        Severity::High,
        CERTAIN,
        "Use the letters for the part that is meant; they differ in case.",
    ),
    text_rule(
        DEAD_COMPARISON,
        "Comparison as a statement",
        Severity::Medium,
        ADVISED,
        "Assign, assert or return what is compared.",
    ),
    text_rule(
        DEAD_ERROR,
        "Error is made and not thrown",
        Severity::High,
        CERTAIN,
        "Throw, raise or return it.",
    ),
    text_rule(
        DEAD_RESULT,
        "Result of a call without an effect is unused",
        Severity::Medium,
        ADVISED,
        "Use the result, or remove the call.",
    ),
    text_rule(
        DEFER_IN_LOOP,
        "Deferred call in a loop",
        Severity::Medium,
        ADVISED,
        "Move the body of the loop into a function.",
    ),
    text_rule(
        DUPLICATE_CASE,
        "Case that an earlier one covers",
        Severity::High,
        CERTAIN,
        "Remove it, or correct its label.",
    ),
    text_rule(
        DUPLICATE_CONDITION,
        "Branch with the condition of an earlier one",
        Severity::High,
        CERTAIN,
        "Remove it, or correct its condition.",
    ),
    text_rule(
        DUPLICATE_KEY,
        "Key is twice in a literal",
        Severity::Medium,
        CERTAIN,
        "Remove the entry that does not count, or correct its key.",
    ),
    text_rule(
        EQUALS_NULL,
        "`equals` is asked for null",
        Severity::Medium,
        CERTAIN,
        "Compare with `== null`.",
    ),
    text_rule(
        EQUALS_WITHOUT_HASH,
        "Equality without a hash that goes with it",
        Severity::Medium,
        ADVISED,
        "Override the hash as well, from the same fields.",
    ),
    text_rule(
        FINALLY_OVERRIDES,
        "`finally` leaves the function",
        Severity::Medium,
        CERTAIN,
        "Return behind the handler, and only clean up in it.",
    ),
    text_rule(
        FORMAT_ARGUMENTS,
        "Format and its arguments disagree",
        Severity::High,
        CERTAIN,
        "Give one argument for each place of the format.",
    ),
    text_rule(
        FRESH_OBJECT,
        "New object is compared by identity",
        Severity::High,
        CERTAIN,
        "Compare contents or the length.",
    ),
    text_rule(
        IDENTICAL_BRANCHES,
        "Branches of a condition are the same",
        Severity::Medium,
        CERTAIN,
        "Correct the branch that should differ, or remove the condition.",
    ),
    text_rule(
        IMPOSSIBLE_CONDITION,
        "Condition never holds by its own operands",
        Severity::High,
        CERTAIN,
        "Join the comparisons with `or`, or compare with the value that is meant.",
    ),
    text_rule(
        INDEX_PAST_END,
        "Place behind the end of a list",
        Severity::High,
        CERTAIN,
        "Subtract one from the length, or compare with `<`.",
    ),
    text_rule(
        JOINED_ARGUMENTS,
        "List and several arguments are confused",
        Severity::High,
        CERTAIN,
        "Write the list that the call takes, or spread it.",
    ),
    text_rule(
        LENGTH_SIGN,
        "Length is compared with a negative number",
        Severity::Medium,
        CERTAIN,
        "Compare with the length that is meant, such as `> 0`.",
    ),
    text_rule(LIST_FOR_TUPLE, "List where a tuple is needed", Severity::High, CERTAIN, "Write a tuple."),
    text_rule(
        LITERAL_ALTERNATIVE,
        "Literal joined by `or` is a condition of its own",
        Severity::High,
        CERTAIN,
        "Compare with each literal.",
    ),
    text_rule(
        LITERAL_IDENTITY,
        "Literal is compared by identity",
        Severity::High,
        CERTAIN,
        "Compare by value.",
    ),
    text_rule(
        LOCK_NOT_HELD,
        "Lock is released or taken at the wrong time",
        Severity::High,
        CERTAIN,
        "Keep the guard in a named variable; defer the unlock.",
    ),
    text_rule(
        LOOP_STEP,
        "Step of a loop leads away from its end",
        Severity::High,
        CERTAIN,
        "Change the counter that the condition compares, in its direction.",
    ),
    text_rule(
        LOST_SWAP,
        "Two assignments that do not swap",
        Severity::High,
        CERTAIN,
        "Keep the first value in a third variable.",
    ),
    text_rule(
        MAPPED_HOLES,
        "Function is mapped over an array without entries",
        Severity::High,
        CERTAIN,
        "Use `Array.from({ length }, f)`, or fill the array first.",
    ),
    text_rule(
        MAPPED_PARSE_INT,
        "`parseInt` gets the position as the base",
        Severity::High,
        CERTAIN,
        "Write `text => parseInt(text, 10)`, or `Number`.",
    ),
    text_rule(
        MASKED_COMPARISON,
        "Comparison inside of a bitwise operation",
        Severity::High,
        CERTAIN,
        "Put the bitwise operation in parentheses.",
    ),
    text_rule(
        METHOD_AS_CONDITION,
        "Method is a condition and not called",
        Severity::High,
        ADVISED,
        "Call the method.",
    ),
    text_rule(
        MISSING_COMMA,
        "Comma is missing between two texts of a list",
        Severity::High,
        CERTAIN,
        "Put the comma between them.",
    ),
    text_rule(
        MISSING_INTERPOLATION,
        "Parameters in braces in a text that is no template",
        Severity::Medium,
        ADVISED,
        "Write the text as a template.",
    ),
    text_rule(
        MUTABLE_DEFAULT,
        "Default value is changed by the function",
        Severity::High,
        ADVISED,
        "Use `None` as the default, and make the value in the function.",
    ),
    text_rule(
        NAIVE_DATE,
        "Date without a time zone",
        Severity::Low,
        ADVISED,
        "Use `datetime.now(timezone.utc)`.",
    ),
    text_rule(
        NAN_COMPARED,
        "Value is compared with NaN",
        Severity::High,
        CERTAIN,
        "Ask `isNaN`, or the function of the language for it.",
    ),
    text_rule(
        NEGATED_OPERAND,
        "Negation applies to the first operand alone",
        Severity::High,
        CERTAIN,
        "Put the comparison in parentheses.",
    ),
    text_rule(
        NULL_DEREFERENCED,
        "Value is used exactly where it is missing",
        Severity::High,
        ADVISED,
        "Turn the check around, or join with the other operator.",
    ),
    text_rule(
        OTHER_CASE,
        "Text in one case is compared with one in the other",
        Severity::High,
        CERTAIN,
        "Write the literal in the case that the text has.",
    ),
    text_rule(
        OTHER_TYPE,
        "Comparison with a literal of another type",
        Severity::High,
        CERTAIN,
        "Compare with a literal of the type that the value has.",
    ),
    text_rule(
        POSITION_AS_TRUTH,
        "Position of a search is used as a condition",
        Severity::High,
        ADVISED,
        "Compare with -1 or with `false`, or ask whether it is contained.",
    ),
    text_rule(
        RAISED_NOT_IMPLEMENTED,
        "`NotImplemented` is raised",
        Severity::High,
        CERTAIN,
        "Raise `NotImplementedError`.",
    ),
    text_rule(
        SAME_OPERAND,
        "Operator with the same expression on both sides",
        Severity::High,
        ADVISED,
        "Correct the operand that should differ.",
    ),
    text_rule(
        SELF_ASSIGNMENT,
        "Value is assigned to itself",
        Severity::Medium,
        CERTAIN,
        "Assign the value that is meant, or remove the line.",
    ),
    text_rule(
        SHARED_VALUE,
        "All entries share one list or map",
        Severity::Medium,
        ADVISED,
        "Make a new one for each entry.",
    ),
    text_rule(
        SORTED_NUMBERS,
        "Numbers are sorted as texts",
        Severity::High,
        CERTAIN,
        "Give `sort` a function that compares numbers.",
    ),
    text_rule(
        STRIPPED_CHARACTERS,
        "Prefix or suffix is stripped as a set of characters",
        Severity::High,
        CERTAIN,
        "Remove the prefix or the suffix as a whole.",
    ),
    text_rule(
        TYPE_WORD,
        "Type is compared with a word that names none",
        Severity::High,
        CERTAIN,
        "Compare with the name that the language gives the type.",
    ),
    text_rule(
        UNIT_MISMATCH,
        "Value of one unit gets the name of another",
        Severity::High,
        CERTAIN,
        "Convert the value.",
    ),
    text_rule(
        XOR_AS_POWER,
        "Exclusive or where a power is meant",
        Severity::High,
        CERTAIN,
        "Use the power of the language, or a shift.",
    ),
];
