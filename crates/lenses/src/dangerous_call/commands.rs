//! Calls that hand a shell a command which is put together from parts.

use super::{C, CLEANED, CS, GO, JAVA, JS, JVM, PHP, PY, RUBY, RUST};
use qa_reading::patterns::{Definition, Variable};

/// Programs that read a command as text.
const SHELL: Variable = Variable::any("SHELL")
    .matching(r"(?i)^(?:[\w/:\\]*[/\\])?(?:(?:ba|z|da|k|c|fi)?sh|cmd|powershell|pwsh)(?:\.exe)?$");
/// Option of a shell behind which the command stands.
const FLAG: Variable = Variable::any("FLAG").matching(r"(?i)^(?:-\w*c|/[ck]|-command)$");
const COMMAND: Variable = Variable::computed("X").not_matching(CLEANED);
/// A command in Python: not a list, and nothing that is quoted for a shell.
const NO_LIST: Variable =
    Variable::computed("X").not_matching(r"(?i)^\[|sanitiz|purify|escape|trusted|quote\(|^shlex\.");
const ON: Variable = Variable::any("S").matching("^(?:True|1)$");

const RUN: Variable = Variable::one_of(
    "F",
    &[
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
        "run",
        "call",
        "check_call",
        "check_output",
        "Popen",
    ],
);
const SYSTEM: Variable = Variable::one_of(
    "F",
    &[
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "asyncio.create_subprocess_shell",
        "asyncio.subprocess.create_subprocess_shell",
    ],
);
const EXEC: Variable = Variable::one_of(
    "F",
    &[
        "child_process.exec",
        "child_process.execSync",
        "childProcess.exec",
        "childProcess.execSync",
        "cp.exec",
        "cp.execSync",
        "execSync",
        "shelljs.exec",
        "execa.execaCommand",
        "execa.execaCommandSync",
        "execa.command",
        "execa.commandSync",
        "execaCommand",
        "execaCommandSync",
    ],
);
const SPAWN: Variable = Variable::one_of(
    "F",
    &[
        "child_process.spawn",
        "child_process.spawnSync",
        "child_process.execFile",
        "child_process.execFileSync",
        "cross-spawn",
        "execa",
        "execa.execa",
        "execa.execaSync",
        "execaSync",
        "spawn",
        "spawnSync",
        "execFile",
        "execFileSync",
    ],
);
const PROCESS: Variable =
    Variable::one_of("P", &["System.Diagnostics.Process.Start", "System.Diagnostics.ProcessStartInfo"]);
const LIST: Variable = Variable::one_of(
    "L",
    &[
        "java.util.List.of",
        "java.util.Arrays.asList",
        "List.of",
        "Arrays.asList",
        "listOf",
        "mutableListOf",
        "arrayOf",
    ],
);

/// A text that is put together in place: `cmd.c_str()`, `("ls " + path).data()`. A buffer may be a constant.
const IN_PLACE: Variable = Variable::computed("X")
    .matching(r"\.(?:c_str|data)\(\s*\)$|(?:^|::)(?:format|StrCat|sprintf)\s*\(")
    .not_matching(CLEANED);

pub(super) const ROWS: &[Definition] = &[
    Definition::new(C, &["system($X)", "std::system($X)", "popen($X, ...)", "_popen($X, ...)"])
        .with(&[IN_PLACE]),
    Definition::new(PY, &["$F($X, ..., shell=$S)", "$F(..., args=$X, shell=$S)"])
        .with(&[RUN, NO_LIST, ON])
        .reporting("shell"),
    Definition::new(PY, &["$F($X, ...)"]).with(&[SYSTEM, NO_LIST]),
    Definition::new(PY, &["$F([$SHELL, $FLAG, $X, ...], ...)"]).with(&[RUN, SHELL, FLAG, COMMAND]),
    Definition::new(JS, &["$F($SHELL, [$FLAG, $X, ...], ...)"]).with(&[SPAWN, SHELL, FLAG, COMMAND]),
    Definition::new(JS, &["$F($X, ...)"]).with(&[EXEC, COMMAND]),
    Definition::new(JS, &["exec($X, ...)"]).with(&[Variable::computed("X")
        .matching(r#"^(?:`|"[^"]*"\s*\+|'[^']*'\s*\+)"#)
        .not_matching(CLEANED)]),
    Definition::new(JS, &["$P($E)($X, ...)"]).with(&[
        Variable::one_of("P", &["util.promisify", "promisify"]),
        Variable::one_of("E", &["child_process.exec", "cp.exec", "exec"]),
        COMMAND,
    ]),
    Definition::new(JS, &["$F($X, ..., { shell: $S, ... }, ...)"])
        .with(&[
            SPAWN,
            Variable::computed("X").not_matching(r"(?i)^\[|sanitiz|purify|escape|trusted|quote\("),
            Variable::any("S").matching(r"(?i)^(?:true|!0|[\w/:\\]*(?:sh|cmd|powershell)(?:\.exe)?)$"),
        ])
        .reporting("shell"),
    Definition::new(
        GO,
        &["exec.Command($SHELL, $FLAG, $X, ...)", "exec.CommandContext($C, $SHELL, $FLAG, $X, ...)"],
    )
    .using(&["import \"os/exec\""])
    .with(&[SHELL, FLAG, COMMAND]),
    Definition::new(RUST, &["$C.arg($FLAG).arg($X)", "$C.args([$FLAG, $X, ...])"])
        .with(&[
            FLAG,
            Variable::computed("X")
                .not_matching(r"(?i:sanitiz|purify|escape|trusted|quote\()|^&?[A-Z][A-Z0-9_]*$"),
            Variable::one_of("N", &["std::process::Command::new", "tokio::process::Command::new"]),
            Variable::literal("OTHER")
                .not_matching(r"(?i)(?:^|[/\\])(?:(?:ba|z|da|k|c|fi)?sh|cmd|powershell|pwsh)(?:\.exe)?$"),
        ])
        .reporting("X")
        .unless(&["$N($OTHER).arg($FLAG).arg($X)", "$N($OTHER).args([$FLAG, $X, ...])"]),
    Definition::new(JVM, &["$R.exec($X, ...)"]).with(&[
        Variable::any("R").matching(r"(?i)runtime\w*(?:\(\))?$"),
        Variable::computed("X").not_matching(
            r"(?i)^(?:new\s+string\s*\[|arrayof|array\(|\{)|split\(|sanitiz|purify|escape|trusted|quote\(",
        ),
    ]),
    Definition::new(JAVA, &["$R.exec(new String[]{$SHELL, $FLAG, $X, ...}, ...)"])
        .with(&[SHELL, FLAG, COMMAND]),
    Definition::new(
        JVM,
        &["new ProcessBuilder($SHELL, $FLAG, $X, ...)", "new ProcessBuilder($L($SHELL, $FLAG, $X, ...))"],
    )
    .with(&[SHELL, FLAG, COMMAND, LIST]),
    Definition::new(JVM, &["$B.command($SHELL, $FLAG, $X, ...)"]).with(&[SHELL, FLAG, COMMAND]),
    Definition::new(&["scala"], &["$Q($SHELL, $FLAG, $X, ...)"]).with(&[
        Variable::one_of("Q", &["Seq", "List", "Array", "Vector"]),
        SHELL,
        FLAG,
        COMMAND,
    ]),
    Definition::new(CS, &["$P($SHELL, $X, ...)"]).with(&[PROCESS, SHELL, COMMAND]),
    Definition::new(CS, &["$I.Arguments = $X", "Arguments = $X"]).with(&[Variable::computed("X")
        .matching(r#"(?i)^[$@]*"\s*(?:/[ck]|-\w*c)\b"#)
        .not_matching(CLEANED)]),
    Definition::new(RUBY, &["$F($X)", "IO.popen($X, ...)"]).with(&[
        Variable::one_of("F", &["system", "exec", "spawn"]),
        Variable::computed("X").matching(r#"^["'%].*(?:#\{|["']\s*[+%])"#).not_matching(CLEANED),
    ]),
    Definition::new(
        PHP,
        &[
            "shell_exec($X)",
            "exec($X, ...)",
            "system($X, ...)",
            "passthru($X, ...)",
            "popen($X, ...)",
            "proc_open($X, ...)",
        ],
    )
    .with(&[
        Variable::computed("X").not_matching(r"(?i)^(?:\[|array\()|sanitiz|purify|escape|trusted|quote\(")
    ]),
];
