//! Names and members whose value the file sets once.

use super::tests::{ANY, NOTHING, check};
use super::*;

const OFF: Definition = Definition { code: &["f(..., verify=False)"], report: "verify", ..NOTHING };
const MEMBER: Definition = Definition { code: &["verify: false"], ..NOTHING };
const WRITTEN: Variable = Variable::any("X").matching("^(?:false|0)$");
const SET: Definition = Definition { code: &["set($X)"], variables: &[WRITTEN], ..NOTHING };

#[test]
fn a_name_that_is_set_once_is_its_value() {
    check(
        &OFF,
        "a.py",
        &[
            "OFF = False\nf(u, verify=OFF)",
            "OFF: bool = False\nf(u, verify=OFF)",
            "OPTS = {'verify': False}\nf(u, **OPTS)",
            "OFF = False\nOPTS = dict(a=1)\nf(u, **OPTS, verify=OFF)",
        ],
        &[
            "OFF = True\nf(u, verify=OFF)",
            "OFF = False\nif x:\n    OFF = True\nf(u, verify=OFF)",
            "def g(OFF):\n    f(u, verify=OFF)\nOFF = False",
            "OFF = False\nOFF |= x\nf(u, verify=OFF)",
            "OFF = False\nOFF = other\nf(u, verify=OFF)",
            "OPTS = {'verify': True}\nf(u, **OPTS)",
            "OFF = False\nfor OFF in x: f(u, verify=OFF)",
            "from conf import OFF\ndef g():\n    OFF = False\ndef h():\n    f(u, verify=OFF)",
            "def g():\n    OFF = False\ndef h():\n    f(u, verify=OFF)",
            "from conf import *\nclass A:\n    OFF = False\nf(u, verify=OFF)",
        ],
    );
    check(
        &MEMBER,
        "a.ts",
        &["const off = false; f({ verify: off })", "let off = !1; f({ verify: off })"],
        &["let off = false; off = x; f({ verify: off })", "const on = true; f({ verify: on })"],
    );
    let field = Definition { code: &["Insecure: true"], ..NOTHING };
    check(
        &field,
        "a.go",
        &[
            "package a\nconst on = true\nvar c = T{Insecure: on}",
            "package a\nfunc f() { on := true; g(T{Insecure: on}) }",
        ],
        &[
            "package a\nvar on bool\nvar c = T{Insecure: on}",
            "package a\nfunc f() { on := true; flag.BoolVar(&on, n); g(T{Insecure: on}) }",
        ],
    );
    let method = Definition { code: &["$X.accept(true)"], variables: &[ANY], ..NOTHING };
    check(
        &method,
        "a.rs",
        &["const ON: bool = true;\nfn f() { c.accept(ON) }", "fn f() { let on = true; c.accept(on) }"],
        &[
            "fn f(on: bool) { c.accept(on) }",
            "fn g() { let on = true; } fn f(o: O) { let O { on } = o; c.accept(on) }",
        ],
    );
    check(
        &SET,
        "a.php",
        &["<?php $off = false; set($off);"],
        &["<?php $off = false; $off = g(); set($off);"],
    );
}

#[test]
fn a_member_of_a_class_that_is_set_once_is_its_value() {
    check(
        &OFF,
        "a.py",
        &[
            "class C:\n    OFF = False\n    def g(self):\n        f(u, verify=self.OFF)",
            "class C:\n    OFF: bool = False\n    @classmethod\n    def g(cls):\n        f(u, verify=cls.OFF)",
            "class C:\n    OFF = False\nf(u, verify=C.OFF)",
            "class C:\n    def __init__(self):\n        self.off = False\n    def g(self):\n        f(u, verify=self.off)",
            "class C:\n    OPTS = {'verify': False}\n    def g(self):\n        f(u, **self.OPTS)",
        ],
        &[
            "class C:\n    OFF = False\n    def g(self):\n        f(u, verify=other.OFF)",
            "class C:\n    OFF = False\nclass D:\n    def g(self):\n        f(u, verify=self.OFF)",
            "class C:\n    OFF = False\n    def g(self, x):\n        self.OFF = x\n        f(u, verify=self.OFF)",
            "class C:\n    OFF = False\nC.OFF = g()\nf(u, verify=C.OFF)",
            "class C:\n    OFF = False\n    def g(self):\n        f(u, verify=OFF)",
        ],
    );
    check(
        &MEMBER,
        "a.ts",
        &[
            "class C { off = false; g() { f({ verify: this.off }) } }",
            "class C { static off = false; g() { f({ verify: C.off }) } }",
            "class C { constructor() { this.off = false } g() { f({ verify: this.off }) } }",
        ],
        &["class C { off = false; set(x) { this.off = x } g() { f({ verify: this.off }) } }"],
    );
    check(
        &SET,
        "a.php",
        &[
            "<?php const OFF = false; set(OFF);",
            "<?php class C { const OFF = false; function g() { set(self::OFF); } }",
            "<?php class C { private $off = false; function g() { set($this->off); } }",
            "<?php class C { private static $off = false; function g() { set(self::$off); } }",
        ],
        &["<?php class C { private $off = false; function s($x) { $this->off = $x; set($this->off); } }"],
    );
}

#[test]
fn a_name_is_that_of_its_innermost_scope() {
    check(
        &OFF,
        "a.py",
        &[
            "def g(off=False):\n    f(u, verify=off)",
            "def g(u, off: bool = False):\n    f(u, verify=off)",
            "def g():\n    off = False\n    f(u, verify=off)\ndef h(off):\n    f(u, verify=off)",
            "a = off = False\nf(u, verify=off)",
            "off = a = False\nf(u, verify=off)",
            "a, off = 1, False\nf(u, verify=off)",
        ],
        &[
            "off = False\ndef g(off):\n    f(u, verify=off)",
            "off = False\ndef g():\n    global off\n    off = x\nf(u, verify=off)",
            "off, a = 1, False\nf(u, verify=off)",
            "a, off = False\nf(u, verify=off)",
            "def g(off=True):\n    f(u, verify=off)",
        ],
    );
    check(
        &MEMBER,
        "a.ts",
        &[
            "const verify = false; f({ verify })",
            "const verify = false; f({ a: 1, verify, })",
            "function g({ off = false }) { f({ verify: off }) }",
            "let off; off = false; f({ a: 1 }); function g(off = false) { f({ verify: off }) }",
        ],
        &[
            "const off = false; function g(o) { const { off } = o; f({ verify: off }) }",
            "const off = false; function g(o) { const { off = true } = o; f({ verify: off }) }",
            "const verify = true; f({ verify })",
            "const verify = false; function g(verify) { f({ verify }) }",
            "let off = false; function g() { off = x } f({ verify: off })",
        ],
    );
    check(
        &SET,
        "a.php",
        &["<?php function g($off = false) { set($off); }", "<?php $off = false; $g = fn() => set($off);"],
        &[
            "<?php $off = false; function g($off) { set($off); }",
            "<?php $off = false; function g() { set($off); }",
            "<?php $off = false; foreach ($all as $off) { set($off); }",
            "<?php $off = false; foreach ($all as $key => $off) { set($off); }",
            "<?php $off = false; function g() { global $off; set($off); }",
            "<?php $off = false; list($off) = g(); set($off);",
        ],
    );
    let field = Definition { code: &["Insecure: true"], ..NOTHING };
    check(
        &field,
        "a.go",
        &["package a\nvar a, on = 1, true\nvar c = T{Insecure: on}"],
        &["package a\nfunc f() { on := true; on = g(); h(T{Insecure: on}) }"],
    );
}

#[test]
fn members_of_a_record_count_as_they_are_set_last() {
    check(
        &OFF,
        "a.py",
        &[
            "OPTS = {}\nOPTS['verify'] = False\nf(u, **OPTS)",
            "OPTS = {'verify': True}\nOPTS['verify'] = False\nf(u, **OPTS)",
            "OPTS = dict(verify=False)\nf(u, **OPTS)",
            "OPTS = dict()\nOPTS['verify'] = False\nf(u, **OPTS)",
            "def g():\n    opts = {}\n    opts['verify'] = False\n    f(u, **opts)",
        ],
        &[
            "OPTS = {'verify': False}\nOPTS['verify'] = True\nf(u, **OPTS)",
            "OPTS = {}\nif x:\n    OPTS['verify'] = False\nf(u, **OPTS)",
            "OPTS = {'verify': False}\nif x:\n    OPTS['verify'] = True\nf(u, **OPTS)",
            "OPTS = {}\ndef g():\n    OPTS['verify'] = False\nf(u, **OPTS)",
            "OPTS = {'verify': False}\nf(u, **OPTS, verify=True)",
        ],
    );
    let option = Definition { code: &["f({ verify: false, ... })"], ..NOTHING };
    check(
        &option,
        "a.js",
        &[
            "const O = { a: 1, verify: false }; f({ ...O })",
            "const O = { verify: false }; f(O)",
            "f({ verify: true, verify: false })",
            "const O = { verify: false }; f({ verify: true, ...O })",
        ],
        &[
            "const O = { verify: false }; f({ ...O, verify: true })",
            "f({ verify: false, verify: true })",
            "const O = { verify: false }; O.verify = true; f(O)",
        ],
    );
}

#[test]
fn calls_that_share_a_large_record_take_linear_time() {
    let members: String = (0..3_000).map(|number| format!("    'a{number}': {number},\n")).collect();
    let text = format!("OPTS = {{\n{members}    'verify': False,\n}}\n{}", "f(u, **OPTS)\n".repeat(2_000));
    let parsed = ParsedText::parse("a.py", &text).unwrap();
    let patterns = Pattern::compile(&OFF, "python").unwrap();
    let patterns: Patterns<'_> = patterns.iter().collect();
    let found = patterns.find(&Code::new(&text, &parsed), None);
    assert!(found.is_complete);
    assert_eq!(found.matches.len(), 2_000);
}
