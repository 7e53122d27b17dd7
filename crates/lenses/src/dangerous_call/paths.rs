//! Calls that open a file whose name is part of a request.

use super::{GO, JS, PHP, PY};
use qa_reading::patterns::{Definition, Variable};

pub(super) const ROWS: &[Definition] = &[
    Definition::new(PY, &["open($X, ...)", "flask.send_file($X, ...)", "send_file($X, ...)"]).with(&[
        Variable::computed("X")
            .matching(
                r"\brequest\.(?:GET|POST|args|files|form|match_info|path_params|query|query_params|values)\b",
            )
            .not_matching(r"basename|secure_filename|safe_join|\.name\b"),
    ]),
    Definition::new(JS, &["$R.$M($X, ...)"]).with(&[
        Variable::one_of(
            "M",
            &[
                "createReadStream",
                "createWriteStream",
                "readFile",
                "readFileSync",
                "sendFile",
                "unlink",
                "writeFile",
                "writeFileSync",
            ],
        ),
        Variable::computed("X")
            .matching(r"\b(?:ctx\.)?req(?:uest)?\.(?:body|params|query)\b")
            .not_matching(r"basename|sanitiz|encodeURIComponent|parseInt|Number\("),
    ]),
    Definition::new(GO, &["http.ServeFile($W, $R, $X)", "os.$M($X, ...)", "ioutil.ReadFile($X)"]).with(&[
        Variable::one_of("M", &["Create", "Open", "OpenFile", "ReadFile", "Remove", "RemoveAll"]),
        Variable::computed("X")
            .matching(r"\.URL\.(?:Path|Query)\b|\b(?:PostFormValue|FormValue|PathValue)\(")
            .not_matching(r"\bBase\(|\bClean\(|\bLocalize\("),
    ]),
    Definition::new(
        PHP,
        &[
            "file_get_contents($X, ...)",
            "file_put_contents($X, ...)",
            "fopen($X, ...)",
            "readfile($X, ...)",
            "unlink($X)",
        ],
    )
    .with(&[Variable::computed("X")
        .matching(r"\$_(?:COOKIE|GET|POST|REQUEST)\b")
        .not_matching("basename|realpath")]),
];
