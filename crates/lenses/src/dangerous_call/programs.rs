//! Calls that run a text as a program.

use super::{CS, JAVA, JS, JVM, PHP, PY, RUBY};
use qa_reading::patterns::{Definition, Variable};

const TEXT: Variable = Variable::computed("X");
const SCRIPT_ENGINE: Variable =
    Variable::any("E").matching(r"(?i)(?:engine\w*|nashorn|graal\w*)(?:\(.*\))?!?$");

pub(super) const ROWS: &[Definition] = &[
    Definition::new(PY, &["eval($X, ...)", "exec($X, ...)"]).with(&[TEXT]),
    Definition::new(JS, &["eval($X)", "new Function(..., $X)"]).with(&[TEXT]),
    Definition::new(JS, &["$F($X, ...)"]).with(&[
        Variable::one_of(
            "F",
            &[
                "vm.runInContext",
                "vm.runInNewContext",
                "vm.runInThisContext",
                "vm.compileFunction",
                "vm.Script",
            ],
        ),
        TEXT,
    ]),
    Definition::new(JS, &["$F($X, ...)"]).with(&[
        Variable::one_of("F", &["setTimeout", "setInterval"]),
        Variable::computed("X").matching(r#"^(?:`|"[^"]*"\s*\+|'[^']*'\s*\+)"#),
    ]),
    Definition::new(RUBY, &["eval($X, ...)"])
        .with(&[Variable::computed("X")
            .matching(r#"^[a-z_@][\w.@?!]*(?:[\[(][^\n]*[\])])?$|^["'][^\n]*(?:#\{|\+)"#)]),
    Definition::new(PHP, &["eval($X)", "create_function($A, $X)"]).with(&[TEXT]),
    Definition::new(JVM, &["$E.eval($X, ...)"]).with(&[SCRIPT_ENGINE, TEXT]),
    Definition::new(JVM, &["new GroovyShell(...).evaluate($X, ...)", "$S.evaluate($X, ...)"])
        .with(&[Variable::any("S").matching(r"(?i)groovy\w*$|^shell$"), TEXT]),
    Definition::new(JAVA, &["$P.parseExpression($X, ...)"])
        .with(&[Variable::any("P").matching(r"(?i)spel|^(?:expression)?parser$"), TEXT]),
    Definition::new(CS, &["$F($X, ...)"]).with(&[
        Variable::one_of(
            "F",
            &[
                "Microsoft.CodeAnalysis.CSharp.Scripting.CSharpScript.EvaluateAsync",
                "Microsoft.CodeAnalysis.CSharp.Scripting.CSharpScript.RunAsync",
                "Microsoft.CodeAnalysis.CSharp.Scripting.CSharpScript.Create",
            ],
        ),
        TEXT,
    ]),
];
