//! Tests of each language, the marks that skip them, and what of them never runs.

use super::*;

#[test]
fn tests_are_found_in_each_language() {
    let cases: &[(Language, &str, &[&str])] = &[
        (
            Language::Python,
            "class TestA:\n    @mark\n    async def test_a(self):\n        pass\ndef helper():\n    pass\n",
            &["test_a"],
        ),
        (
            Language::TypeScript,
            "describe('g', () => {\n  it.skip(\n    'does a',\n    () => {},\n  );\n});\ntest.each([1])('b %d', f);\nmodel.test('c');\n",
            &["does a", "b %d"],
        ),
        (
            Language::JavaScript,
            "Deno.test({ name: 'd', fn() {} });\ntest.describe('g', () => { test('e', f); });\n",
            &["d", "e"],
        ),
        (
            Language::Go,
            "package a\n\nfunc TestA(t *testing.T) {}\nfunc (s *S) TestB() {}\nfunc helper() {}\n",
            &["TestA", "TestB"],
        ),
        (
            Language::Rust,
            "#[test]\n#[ignore]\nfn a() {}\nfn b() {}\n#[tokio::test]\nasync fn c() {}\n",
            &["a", "c"],
        ),
        (Language::Java, "class A {\n  @Test\n  void a() {}\n  void b() {}\n}\n", &["a"]),
        (
            Language::CSharp,
            "class A {\n  [Fact]\n  public void B() {}\n  [Theory, InlineData(1)]\n  public async Task C(int x) {}\n  [Xunit.FactAttribute(Skip = \"x\")] void D() {}\n  void E() {}\n}\n",
            &["B", "C", "D"],
        ),
        (
            Language::Cpp,
            "TEST(A, B) {\n  EXPECT_EQ(1, f());\n}\nTEST_F(C, DISABLED_D) {}\nint main() { return 0; }\n",
            &["A, B", "C, D"],
        ),
        (
            Language::Kotlin,
            "class A {\n  @Test\n  fun b() {}\n  @Test fun `does c`() = d()\n  fun e() {}\n}\n",
            &["b", "does c"],
        ),
        (
            Language::Ruby,
            "RSpec.describe A do\n  it 'does a' do\n  end\n  xit('b') { c }\n  it { d }\nend\nclass ATest\n  def test_e\n  end\n  def helper = 1\n  test \"f\" do\n  end\nend\n",
            &["does a", "b", "test_e", "f"],
        ),
        (
            Language::Php,
            "<?php\nclass ATest {\n  public function testA() {}\n  #[Test]\n  public function b() {}\n  /** @test */\n  public function c() {}\n  function helper() {}\n}\ndescribe('g', function () {\n  it('does d', function () {})->skip();\n});\n",
            &["testA", "b", "c", "does d"],
        ),
    ];
    for (language, text, expected) in cases {
        let file = TestFile::parse(*language, text, None, |_, _, _| true).expect("it parses");
        let names: Vec<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, *expected, "{language:?}");
    }
}

#[test]
fn a_test_that_no_runner_finds_is_marked() {
    for (language, text, expected) in [
        (Language::Python, "class A:\n    def test_a(self):\n        pass\n", "class A:"),
        (Language::Python, "class TestA:\n    def test_a(self):\n        pass\n", ""),
        (Language::Python, "class A(Base):\n    def test_a(self):\n        pass\n", ""),
        (Language::Python, "def f():\n    def test_a():\n        pass\n", "def f():"),
        (Language::Python, "def test_a():\n    pass\ntest_a = None\n", "test_a = None"),
        (Language::Python, "def test_a():\n    pass\ntest_a = deco(test_a)\n", ""),
        (Language::Python, "class A:\n    def test_a(self):\n        pass\nclass TestB(A):\n    pass\n", ""),
        (
            Language::Python,
            "ALL = []\nALL.append(1)\n@pytest.mark.parametrize('a', ALL)\ndef test_a(a):\n    pass\n",
            "",
        ),
        (Language::Python, "@pytest.fixture()\ndef test_a():\n    pass\n", "@pytest.fixture()"),
        (
            Language::Python,
            "ALL = []\n@pytest.mark.parametrize('a', ALL)\ndef test_a(a):\n    pass\n",
            "@pytest.mark.parametrize('a', ALL)",
        ),
        (Language::Rust, "fn f() {\n    #[test]\n    fn a() {}\n}\n", "fn f()"),
        (Language::JavaScript, "function f() {\n  it('a', () => {});\n}\n", "function f()"),
        (Language::JavaScript, "function f() {\n  it('a', () => {});\n}\nf();\n", ""),
        (Language::JavaScript, "export function f() {\n  it('a', () => {});\n}\n", ""),
        (Language::JavaScript, "const it = () => {};\nit('a', () => { b(); });\n", "it"),
        (Language::JavaScript, "it('a');\n", "it"),
        (Language::JavaScript, "it.each([])('a', () => { b(); });\n", "it.each([])"),
        (Language::Java, "class A {\n  @Test\n  private void a() {}\n}\n", "@Test\n  private"),
        (Language::Java, "class A {\n  @Test\n  @DisplayName(\"a private\")\n  void a() {}\n}\n", ""),
    ] {
        let file = TestFile::parse(language, text, None, |_, _, _| true).expect("it parses");
        let marks = file.cases[0].marks.iter().filter(|mark| mark.kind == MarkKind::Uncollected);
        let marks: Vec<&str> = marks.map(|mark| mark.span.of(text).trim()).collect();
        assert_eq!(marks.join(" "), expected, "{text}");
    }
}

#[test]
fn parts_of_a_test_that_need_not_run_are_branches() {
    for (language, text, expected) in [
        (Language::Python, "def test_a():\n    if b:\n        c()\n", "c()"),
        (Language::Python, "def test_a():\n    if b:\n        return\n    c()\n", "c();return"),
        (
            Language::Python,
            "def test_a():\n    try:\n        c()\n    except Exception:\n        pass\n",
            "c()",
        ),
        (Language::Python, "def test_a():\n    try:\n        c()\n    except KeyError:\n        pass\n", ""),
        (Language::Python, "def test_a():\n    with suppress(AssertionError):\n        c()\n", "c()"),
        (Language::Python, "def test_a():\n    def b():\n        c()\n", "c()"),
        (Language::Python, "def test_a():\n    def b():\n        c()\n    b()\n", ""),
        (Language::JavaScript, "it('a', () => { try { c(); } catch {} });\n", "{ c(); }"),
        (Language::JavaScript, "it('a', () => { b && c(); });\n", "c()"),
        (Language::Rust, "#[test]\nfn a() { let _ = || c(); }\n", "c()"),
    ] {
        let file = TestFile::parse(language, text, None, |_, _, _| true).expect("it parses");
        let parts = file.cases[0].branches.iter().map(|branch| branch.then.of(text).trim());
        assert_eq!(parts.collect::<Vec<&str>>().join(";"), expected, "{text}");
    }
}

#[test]
fn a_statement_that_uses_something_is_read_by_its_body() {
    let text = "class A {\n  [Fact]\n  void B() {\n    using (var c = d()) { Assert.Ignore(); }\n  }\n}\n";
    let file = TestFile::parse(Language::CSharp, text, None, |_, _, _| true).expect("it parses");
    let spelled = file.cases[0].marks.iter().flat_map(|mark| mark.spelled.iter());
    assert!(spelled.clone().any(|spelled| spelled.path == "Assert.Ignore"), "{:?}", file.cases);
}

#[test]
fn code_that_never_runs_is_dead() {
    let text = "def test_a():\n    x = a()\n    return\n    assert x\ndef test_b():\n    if False:\n        assert b()\n";
    let file = TestFile::parse(Language::Python, text, None, |_, _, _| true).expect("it parses");
    let dead: Vec<&str> = file.dead.iter().map(|span| span.of(text).trim()).collect();
    assert_eq!(dead, ["assert x", "assert b()"]);
    assert_eq!(file.cases[0].cut.map(|cut| cut.of(text)), Some("return"));
}
