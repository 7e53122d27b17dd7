//! Code that puts a text into a page as it stands.

use super::{CLEANED, GO, JS, PHP, PY, RUBY};
use qa_reading::patterns::{Definition, Variable};

const TEXT: Variable = Variable::computed("X").not_matching(CLEANED);

pub(super) const ROWS: &[Definition] = &[
    Definition::new(
        JS,
        &[
            "$E.innerHTML = $X",
            "$E.outerHTML = $X",
            "Object.assign($E, ..., { innerHTML: $X, ... }, ...)",
            "Object.assign($E, ..., { outerHTML: $X, ... }, ...)",
            "Reflect.set($E, 'innerHTML', $X, ...)",
            "Reflect.set($E, 'outerHTML', $X, ...)",
            "$E.insertAdjacentHTML($P, $X)",
            "$E.setHTMLUnsafe($X)",
            "$E.srcdoc = $X",
            "$R.createContextualFragment($X)",
            "document.write(..., $X, ...)",
            "document.writeln(..., $X, ...)",
            "dangerouslySetInnerHTML={{ __html: $X }}",
        ],
    )
    .with(&[TEXT]),
    Definition::new(JS, &["$S.$M($X)"]).with(&[
        Variable::one_of("M", &["bypassSecurityTrustHtml", "bypassSecurityTrustScript"]),
        Variable::computed("X").not_matching("(?i)sanitiz|purify|escape"),
    ]),
    Definition::new(GO, &["template.$T($X)"])
        .using(&["import \"html/template\""])
        .with(&[Variable::one_of("T", &["HTML", "HTMLAttr", "JS", "JSStr"]), TEXT]),
    Definition::new(PY, &["$F($X)"]).with(&[
        Variable::one_of(
            "F",
            &[
                "django.utils.safestring.mark_safe",
                "mark_safe",
                "markupsafe.Markup",
                "flask.Markup",
                "Markup",
            ],
        ),
        TEXT,
    ]),
    Definition::new(JS, &["$R.send($X)", "$R.write($X)", "$R.end($X)"]).with(&[Variable::computed("X")
        .matching(r#"(?s)^(?:["'`]\s*<\w.*)\breq(?:uest)?\.(?:body|cookies|headers|params|query)\b"#)
        .not_matching(r"(?i)encode|escape|number\(|parse(?:Int|Float)\(|purify|sanitiz")]),
    Definition::new(PHP, &["echo $X", "print $X"]).with(&[Variable::computed("X")
        .matching(r"\$_(?:COOKIE|GET|POST|REQUEST)\b")
        .not_matching(r"(?i)absint|count\(|encode|entities|esc_|escape|filter_|floatval|intval|\((?:bool|float|int)\)|number_format|sanitiz|specialchars|strip_tags")]),
    Definition::new(RUBY, &["$X.html_safe"])
        .with(&[Variable::computed("X").matching(r##"^"[^\n]*#\{"##).not_matching(CLEANED)]),
];
