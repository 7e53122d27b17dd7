//! Tests of the outlines of Ruby, PHP, C, C++, C# and Kotlin.

use super::Language;
use super::tests::check;

#[test]
fn a_ruby_file_has_classes_methods_and_what_it_requires() {
    check(
        Language::Ruby,
        r#"require 'json'
require_relative 'cart/price'
require_relative "cart/#{name}"
autoload :Tax, 'cart/tax'
require_relative 'cart/fast' if fast?
begin
  require 'oj'
rescue LoadError
end
module Shop
  LIMIT = 3
  class Cart::Line < Base
    def add(price) # one
      require 'late'
    end
    def self.build = new
    private def secret; end
    private
    def total
    end
  end
  class Tax; def rate; end; end
end
def helper
end
it 'adds' do
end
"#,
        "10: Module Shop exported
         11: Constant LIMIT exported nested
         12: Class Line exported nested
         13: Method add exported nested
         16: Method build exported nested
         17: Method secret nested
         19: Method total nested
         22: Class Tax exported nested
         22: Method rate exported nested
         24: Function helper exported
         1: Static json
         2: File cart/price
         4: Call cart/tax
         5: File cart/fast, conditional
         7: Static oj, conditional, guarded
         14: Static late, nested
         26: a test
         13: a comment",
    );
}

#[test]
fn a_c_file_has_functions_types_macros_and_what_it_includes() {
    let text = r#"#ifndef SHOP_H
#define SHOP_H
#include <stdio.h>
#include "price.h"
#if FAST
#include "fast/price.h"
#endif
#define LIMIT 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct line { int count; } line_t;
enum suit { HEARTS };
int total(const line_t *lines); // one
static char *name(void) {
    int local = 1;
    return call(local);
}
#endif
"#;
    let expected = "2: Macro SHOP_H exported
         8: Macro LIMIT exported
         9: Macro MAX exported
         10: Type line_t exported
         10: Struct line exported
         11: Enum suit exported
         12: Function total exported
         13: Function name
         3: Static stdio.h
         4: File price.h
         6: File fast/price.h, conditional
         12: a comment";
    check(Language::C, text, expected);
    check(Language::Cpp, text, expected);
}

#[test]
fn a_cpp_file_has_classes_and_members() {
    check(
        Language::Cpp,
        r#"namespace shop {
template <typename T> class Cart : public Base {
 public:
  Cart() = default;
  int total() const { return 1; }
  void add(const Line& line);
};
using Lines = std::vector<Line>;
int& Cart<int>::size() { return size_; }
}
"#,
        "1: Module shop exported
         2: Class Cart exported
         4: Method Cart exported nested
         5: Method total exported nested
         6: Method add exported nested
         8: Type Lines exported
         9: Function size exported",
    );
}

#[test]
fn a_csharp_file_has_types_members_and_using_directives() {
    check(
        Language::CSharp,
        r#"using System;
using Json = System.Text.Json;
namespace Shop.Carts;
public interface ICart { int Total { get; } }
internal class Cart : ICart
{
    public const int Limit = 3, Least = 1;
    private readonly string name; // one
    public Cart(string name) { this.name = name; }
    public int Total => 1;
    [Fact] public void Adds() { }
    enum Suit { Hearts }
}
public record Line(int Count);
public struct Point { }
"#,
        "3: Module Shop.Carts exported
         4: Interface ICart exported
         4: Field Total nested
         5: Class Cart
         7: Field Limit exported nested
         7: Field Least exported nested
         8: Field name nested
         9: Method Cart exported nested
         10: Field Total exported nested
         11: Method Adds exported nested
         12: Enum Suit nested
         14: Class Line exported
         15: Struct Point exported
         1: Static System, *
         2: Static System.Text.Json, itself as Json
         11: a test
         8: a comment",
    );
}

#[test]
fn a_kotlin_file_has_types_functions_and_imports() {
    check(
        Language::Kotlin,
        r#"package com.acme.shop
import com.acme.money.Price as Amount
import com.acme.tax.*
interface Line { val count: Int }
enum class Suit { HEARTS }
private const val LIMIT = 3
typealias Lines = List<Line>
class Cart(val name: String) {
    companion object { fun empty() = Cart("") }
    @Test fun adds() {} // one
    internal fun total(): Int { val local = 1; return local }
}
object Store
fun helper() = 1
"#,
        "1: Module com.acme.shop exported
         4: Interface Line exported
         4: Field count exported nested
         5: Enum Suit exported
         6: Variable LIMIT
         7: Type Lines exported
         8: Class Cart exported
         9: Method empty exported nested
         10: Method adds exported nested
         11: Method total nested
         11: Field local exported nested
         13: Class Store exported
         14: Function helper exported
         2: Static com.acme.money, Price as Amount
         3: Static com.acme.tax, *
         10: a test
         10: a comment",
    );
}

#[test]
fn a_php_file_has_types_members_and_what_it_requires() {
    check(
        Language::Php,
        r#"<?php
namespace App\Shop;
use App\Money\Price as Amount;
use App\{Cart, Tax\Rate};
use function App\round;
require_once __DIR__ . '/inc/a.php';
require(dirname(__FILE__) . "/inc/b.php");
include __DIR__ . '/inc/c.php';
require 'd.php';
if ($x) { require __DIR__ . '/inc/e.php'; }
const LIMIT = 3;
function total(int $x) { // one
    require __DIR__ . '/late.php';
}
abstract class Cart extends Base implements Countable
{
    const SIZE = 1;
    private $lines = [], $names;
    public function __construct(private Price $price) {}
    protected function secret() {}
    public function testAdds() {}
    #[Test]
    public function adds() {}
}
interface Line {}
trait Counts {}
enum Suit { case Hearts; }
"#,
        "2: Module App\\Shop exported
         11: Constant LIMIT exported
         12: Function total exported
         15: Class Cart exported
         17: Constant SIZE exported nested
         18: Field $lines nested
         18: Field $names nested
         19: Method __construct exported nested
         20: Method secret nested
         21: Method testAdds exported nested
         23: Method adds exported nested
         25: Interface Line exported
         26: Trait Counts exported
         27: Enum Suit exported
         3: Static App\\Money, Price as Amount
         4: Static App, Cart
         4: Static App\\Tax, Rate
         5: Static App, round
         6: File /inc/a.php
         7: File /inc/b.php
         8: File /inc/c.php, guarded
         10: File /inc/e.php, conditional
         13: File /late.php, nested
         21: a test
         22: a test
         12: a comment",
    );
}
