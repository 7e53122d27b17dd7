//! Calls and names by which product code sees that it runs under test, and by which a test is run again.

use super::{DETECTED, MOCKED, RETRIED};
use crate::calls::{CallRule, Calls, Quoted};
use qa_reading::patterns::{Context, Definition, Variable};

/// Variables that test runners set.
const VARIABLES: &str = r"^(?:PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)|JEST_WORKER_ID|VITEST(?:_WORKER_ID|_POOL_ID)?|MOCHA_\w+|CYPRESS|PLAYWRIGHT_TEST\w*|RUNNING_TESTS?|IS_TEST(?:ING)?|UNIT_TEST(?:S|ING)?|TEST_MODE|TESTING|NEXTEST(?:_\w+)?|TEST_WORKER_INDEX|PHPUNIT\w*)$";
const MODULES: &str = r"^(?:pytest|_pytest|unittest|nose|nose2)$";
const CLASSES: &str =
    r"^(?:org\.junit\b|org\.testng\b|junit\.|surefire\.|PHPUnit|(?i:xunit|nunit|mstest|testhost)\b)";
/// Names of test runners and of files of tests, as they stand in frames of the caller.
const RUNNERS: &str = r"^/?(?:_?pytest|unittest|nose2?|jest|vitest|mocha|jasmine|node_modules/(?:jest|vitest|mocha)\b.*|\.(?:test|spec)\.\w*)[/.]?$";

pub(super) static DETECTIONS: Calls = Calls::new(&[CallRule {
    id: DETECTED,
    summary: "product code checks whether it runs under test",
    rows: &[
        Definition::new(
            &["python"],
            &[
                "os.environ.get($K, ...)",
                "os.getenv($K, ...)",
                "os.environ[$K]",
                "$K in os.environ",
                "$K not in os.environ",
                "environ.get($K, ...)",
            ],
        )
        .with(&[Variable::literal("K").matching(VARIABLES)]),
        Definition::new(
            &["python"],
            &["$K in sys.modules", "$K not in sys.modules", "sys.modules.get($K, ...)"],
        )
        .with(&[Variable::literal("K").matching(MODULES)]),
        Definition::new(
            &["javascript"],
            &[
                "process.env.NODE_ENV === $V",
                "process.env.NODE_ENV == $V",
                "process.env.NODE_ENV !== $V",
                "process.env.NODE_ENV != $V",
            ],
        )
        .with(&[Variable::literal("V").matching("^test(?:ing)?$")]),
        Definition::new(
            &["javascript"],
            &[
                "process.env.JEST_WORKER_ID",
                "process.env.NODE_TEST_CONTEXT",
                "process.env.VITEST",
                "process.env.VITEST_WORKER_ID",
                "process.env.CYPRESS",
                "window.Cypress",
                "import.meta.vitest",
                "import.meta.env.VITEST",
            ],
        ),
        Definition::new(&["javascript"], &["import.meta.env.MODE === $V"])
            .with(&[Variable::literal("V").matching("^test$")]),
        Definition::new(
            &["javascript"],
            &["typeof $G !== 'undefined'", "typeof $G === 'undefined'", "typeof $G != 'undefined'"],
        )
        .with(&[Variable::one_of("G", &["jest", "vi", "describe", "expect", "beforeEach", "it"])]),
        Definition::new(&["python"], &["$K in $F.filename", "$K in $F.function", "$K in str($F)"])
            .with(&[Variable::literal("K").matching(RUNNERS)]),
        Definition::new(
            &["javascript"],
            &[
                "$E.stack.includes($K)",
                "$E.stack.match($K)",
                "$E.stack.indexOf($K)",
                "$E.stack?.includes($K)",
            ],
        )
        .with(&[Variable::literal("K").matching(RUNNERS)]),
        Definition::new(&["go"], &["testing.Testing()"]),
        Definition::new(&["go"], &["flag.Lookup($F)"]).with(&[Variable::literal("F").matching(r"^test\.")]),
        Definition::new(&["go"], &["strings.HasSuffix(os.Args[0], $S)", "strings.Contains(os.Args[0], $S)"])
            .with(&[Variable::literal("S").matching(r"\.test$|/_test/")]),
        Definition::new(&["go"], &["os.Getenv($K)", "os.LookupEnv($K)"])
            .with(&[Variable::literal("K").matching(VARIABLES)]),
        Definition::new(
            &["rust"],
            &["std::env::var($K)", "std::env::var_os($K)", "env::var($K)", "env::var_os($K)"],
        )
        .with(&[Variable::literal("K").matching(VARIABLES)]),
        Definition::new(&["rust"], &["cfg!(test)"]),
        Definition::new(
            &["java", "kotlin"],
            &["Class.forName($C)", "System.getProperty($C, ...)", "$X.startsWith($C)", "$X.contains($C)"],
        )
        .with(&[Variable::literal("C").matching(CLASSES)]),
        Definition::new(
            &["c#"],
            &["$X.StartsWith($C, ...)", "$X.Contains($C, ...)", "Type.GetType($C, ...)"],
        )
        .with(&[Variable::literal("C").matching(CLASSES)]),
        Definition::new(&["ruby"], &["ENV[$K] == 'test'", "ENV.fetch($K, ...) == 'test'"])
            .with(&[Variable::literal("K").matching("^(?:APP|HANAMI|RACK|RAILS|SINATRA)_ENV$")]),
        Definition::new(&["ruby"], &["Rails.env.test?", "ENV.fetch($K, ...)", "ENV[$K]"])
            .with(&[Variable::literal("K").matching(VARIABLES)]),
        Definition::new(&["php"], &["defined($K)"]).with(&[Variable::literal("K").matching("^PHPUNIT")]),
        Definition::new(&["php"], &["getenv($K)"]).with(&[Variable::literal("K").matching(VARIABLES)]),
    ],
    quoted: Quoted::Call,
}]);

pub(super) static RETRIES: Calls = Calls::new(&[CallRule {
    id: RETRIED,
    summary: "test is run again until it passes",
    rows: &[
        Definition::new(&["python"], &["pytest.mark.flaky(...)", "flaky.flaky(...)", "flaky(...)", "@flaky"]),
        Definition::new(
            &["java", "kotlin"],
            &["@RetryingTest(...)", "@RepeatedIfExceptionsTest(...)", "@RetryTest(...)", "@Retry(...)"],
        ),
        Definition::new(&["javascript"], &["vi.setConfig({ retry: $N })"])
            .with(&[Variable::literal("N").matching(r"^[1-9]")]),
        Definition::new(&["javascript"], &["jest.retryTimes($N, ...)", "this.retries($N)"])
            .with(&[Variable::literal("N").matching(r"^[1-9]")]),
        Definition::new(
            &["javascript"],
            &["test.describe.configure({ retries: $N })", "describe.configure({ retries: $N })"],
        )
        .with(&[Variable::literal("N").matching(r"^[1-9]")]),
        Definition::new(
            &["javascript"],
            &["$F($TITLE, { retry: $N }, ...)", "$F($TITLE, { retries: $N }, ...)"],
        )
        .with(&[
            Variable::one_of("F", &["it", "test", "describe"]),
            Variable::literal("N").matching(r"^[1-9]"),
        ]),
    ],
    quoted: Quoted::Call,
}]);

pub(super) static MOCKS: Calls = Calls::new(&[CallRule {
    id: MOCKED,
    summary: "the code under test is mocked",
    rows: &[
        Definition::new(&["javascript"], &["$F($M, ...)"])
            .with(&[
                Variable::one_of("F", &["jest.mock", "vi.mock", "jest.doMock", "vi.doMock"]),
                Variable::literal("M"),
            ])
            .reporting("M"),
        Definition::new(&["python"], &["$F($M, ...)"])
            .with(&[
                Variable::one_of(
                    "F",
                    &["patch", "mock.patch", "unittest.mock.patch", "mocker.patch", "monkeypatch.setattr"],
                ),
                Variable::literal("M"),
            ])
            .reporting("M")
            .inside(&[Context::Test]),
    ],
    quoted: Quoted::Part,
}]);

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::DETECTIONS.check();
        super::RETRIES.check();
        super::MOCKS.check();
    }
}
