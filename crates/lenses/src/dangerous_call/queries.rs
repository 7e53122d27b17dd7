//! Calls that put a value into the text of a query.

use super::{CS, GO, JS, JVM, PHP, PY, RUBY};
use qa_reading::patterns::{Definition, Variable};

/// A query with a value of the program where a parameter belongs: behind a comparison or in a list of values. Names of
/// tables and columns cannot be parameters, so those are left out.
const VALUE: &str = concat!(
    r"(?is)\b(?:select\b.*\bfrom|insert\s+into|replace\s+into|update\b.*\bset|delete\s+from)\b.*",
    r#"(?:[=<>]|\b(?:like|ilike|between|values\s*\(|in\s*\())\s*\\?['"]?%?"#,
    r#"(?:\$?\{+\w|#\{|%[sdvq+]|%\(|\{\d*\}|\$\w|["'`]{1,3}\s*(?:\+|\.(?:\s*\$|\s))|["'`]\s*,\s*\w)"#,
);
/// Words by which a value is quoted, or by which what is put in are markers of parameters.
const QUOTED: &str =
    r#"(?i)escape|quote|literal|identifier|placeholder|\bjoin\(|\bimplode\(|["']\?["']|\bplaceholders?\b"#;
/// Like [`QUOTED`], and a template that a function reads, which makes parameters of its values.
const TAGGED: &str = r"(?i)^[\w.$]+`|escape|quote|literal|identifier|placeholder|\bjoin\(";
const QUERY: Variable = Variable::computed("Q").matching(VALUE).not_matching(QUOTED);

pub(super) const ROWS: &[Definition] = &[
    Definition::new(PY, &["$C.$M($Q, ...)"]).with(&[
        Variable::one_of(
            "M",
            &["execute", "executemany", "executescript", "fetch", "fetchrow", "raw", "read_sql"],
        ),
        QUERY,
    ]),
    Definition::new(PY, &["text($Q)", "sqlalchemy.text($Q)"]).with(&[QUERY]),
    Definition::new(JS, &["$C.$M($Q, ...)"]).with(&[
        Variable::one_of(
            "M",
            &[
                "$executeRawUnsafe",
                "$queryRawUnsafe",
                "all",
                "each",
                "exec",
                "execute",
                "get",
                "prepare",
                "query",
                "raw",
                "run",
            ],
        ),
        Variable::computed("Q").matching(VALUE).not_matching(TAGGED),
    ]),
    Definition::new(GO, &["$C.$M($Q, ...)"])
        .with(&[Variable::one_of("M", &["Exec", "Prepare", "Query", "QueryRow", "Raw", "Select"]), QUERY]),
    Definition::new(GO, &["$C.$M($A, $Q, ...)"]).with(&[
        Variable::one_of(
            "M",
            &["ExecContext", "PrepareContext", "QueryContext", "QueryRowContext", "Get", "Select"],
        ),
        QUERY,
    ]),
    Definition::new(JVM, &["$C.$M($Q, ...)"]).with(&[
        Variable::one_of(
            "M",
            &[
                "addBatch",
                "createNativeQuery",
                "createQuery",
                "execute",
                "executeQuery",
                "executeUpdate",
                "prepareStatement",
                "query",
                "queryForList",
                "queryForObject",
                "update",
            ],
        ),
        QUERY,
    ]),
    Definition::new(CS, &["$C.$M($Q, ...)"]).with(&[
        Variable::one_of(
            "M",
            &["Execute", "ExecuteSqlRaw", "ExecuteSqlRawAsync", "FromSqlRaw", "Query", "QueryAsync"],
        ),
        QUERY,
    ]),
    Definition::new(
        CS,
        &[
            "$C.CommandText = $Q",
            "new MySqlCommand($Q, ...)",
            "new NpgsqlCommand($Q, ...)",
            "new SqlCommand($Q, ...)",
            "new SqlDataAdapter($Q, ...)",
            "new SqliteCommand($Q, ...)",
            "new $N.SqlCommand($Q, ...)",
        ],
    )
    .with(&[QUERY]),
    Definition::new(PHP, &["$C->$M($Q, ...)"])
        .with(&[Variable::one_of("M", &["exec", "execute", "executeQuery", "prepare", "query"]), QUERY]),
    Definition::new(PHP, &["mysqli_query($C, $Q, ...)", "pg_query($C, $Q)", "pg_query($Q)"]).with(&[QUERY]),
    Definition::new(RUBY, &["$C.$M($Q, ...)"]).with(&[
        Variable::one_of("M", &["exec_query", "execute", "find_by_sql", "query", "select_all"]),
        QUERY,
    ]),
];
