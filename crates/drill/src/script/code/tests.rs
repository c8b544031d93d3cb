use super::{Failure, Variables, parse};
use crate::script::error::Position;
use std::collections::BTreeMap;

const START: Position = Position { line: 1, column: 1 };

fn run(code: &str) -> Result<Vec<String>, Failure> {
    let outer = [("cwnd", 10), ("rtt", 20_000), ("options", 7)]
        .map(|(name, value)| (name.to_owned(), value));
    let code = parse(code, START).expect("code");
    Variables::default().run(&code, &BTreeMap::from(outer))
}

fn printed(expression: &str) -> String {
    run(&format!("print({expression})")).expect("a value").join("\n")
}

#[test]
fn operations_are_those_of_python() {
    let cases = [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-7 // 2, -7 % 2, 7 / 2", "-4 1 3.5"),
        ("2 ** 3 ** 2, -2 ** 2", "512 -4"),
        ("1 << 4 | 1", "17"),
        ("6 & 3, 6 ^ 3, ~0", "2 5 -1"),
        ("'a=%d b=%s %%' % (1, 2)", "a=1 b=2 %"),
        ("not 1 == 2 and 3", "3"),
        ("0 or 'x'", "x"),
        ("min(3, 1, 2), max(3, 1), abs(-4), int(2.9)", "1 3 4 2"),
        ("1 < 2 < 3, 1 < 3 < 2", "True False"),
        ("0x10, 1e3, .5", "16 1000.0 0.5"),
    ];
    for (expression, value) in cases {
        assert_eq!(printed(expression), value, "{expression}");
    }
}

#[test]
fn an_assertion_names_its_values() {
    assert_eq!(
        run("assert 5000 <= rtt <= 20000, 'rtt=%d' % rtt; assert (options & 2) != 0"),
        Ok(vec![])
    );
    let failure = run("assert cwnd == 12, 'cwnd=%d' % cwnd").expect_err("10");
    let expected = Failure::Assertion {
        position: START,
        text: "assert cwnd == 12, 'cwnd=%d' % cwnd".to_owned(),
        values: vec![("cwnd".to_owned(), super::Value::Integer(10))],
        message: Some("cwnd=10".to_owned()),
    };
    assert_eq!(failure, expected);
}

#[test]
fn statements_end_with_lines_and_semicolons() {
    let code = "a = 1;\\\n  a += 2 # three\nprint a\n  assert (a ==\n 3)\n";
    assert_eq!(run(code), Ok(vec!["3".to_owned()]));
}

#[test]
fn what_is_not_understood_has_a_place() {
    let error = |code: &str| parse(code, START).expect_err(code).to_string();
    assert_eq!(
        error("assert a ==\n"),
        "1:12: expected a value in code, found the end of the statement"
    );
    assert_eq!(error("assert a b"), "1:10: expected the end of the statement in code, found `b`");
    assert_eq!(error("x = 'y"), "1:5: this text has no end: expected '");
    assert_eq!(error(&"(".repeat(100)), "1:61: this expression is nested too deep");
}

#[test]
fn missing_names_and_wrong_values_end_the_code() {
    assert_eq!(run("assert tcpi_x == 1"), Err(Failure::Unknown { name: "tcpi_x".to_owned() }));
    for code in ["1 / 0", "1 % 0", "'a' * 2", "1 << 200", "2 ** 1000", "'%d' % 'a'", "foo(1)"] {
        assert!(matches!(run(code), Err(Failure::Error { .. })), "{code}");
    }
}
