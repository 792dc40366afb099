use super::*;

struct Known;

impl Scope for Known {
    fn value(&self, name: &str, parts: &[Part<i128>]) -> Result<Evaluated, String> {
        match (written(name, parts).as_str(), parts) {
            ("lane", _) => Ok(Evaluated::Integer(5)),
            ("t", _) => Ok(Evaluated::Integer(3)),
            ("x.len()", _) => Ok(Evaluated::Integer(512)),
            ("block.x", _) => Ok(Evaluated::Integer(1)),
            ("%p1", _) => Ok(Evaluated::Bool(true)),
            ("tenth", _) => Ok(Evaluated::Single(0.1)),
            (_, &[Part::Index(index)]) if name == "tile" => {
                Ok(Evaluated::Single(index as f32 / 2.0))
            }
            (place, _) => Err(format!("`{place}` is unknown")),
        }
    }
}

fn value(text: &str) -> Result<String, String> {
    let value = Expression::parse(text)?.value(&Known)?;
    Ok(value.to_string())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let problem = value(text).expect_err(text);
    assert!(problem.contains(expected), "{text}: {problem}");
}

fn holds(text: &str) -> Result<bool, String> {
    Condition::parse(text)?.holds(&Known)
}

#[test]
fn precedence_and_types_are_rusts() {
    check("1 + 2 * 3", "7");
    check("(1 + 2) * 3", "9");
    check("2 - 1 - 1", "0");
    check("-t + 1", "-2");
    check("1 << 4 | 1", "17");
    check("0xff & 0b1010 ^ 1", "11");
    check("7 / 2", "3");
    check("-7 % 4", "-3");
    check("lane % t", "2");
    check("7.0 / 2.0", "3.5");
    check("1_000u32 + 0x_ff", "1255");
    check("t == 3 && !(lane < 5) || false", "true");
    check("1 + 1 == 2", "true");
    check("2 & 3 == 6 as u8 & 3", "true");
    check("-1 as u8", "255");
    check("300 as u8", "44");
    check("3.9 as i32", "3");
    check("-3.9 as u32", "0");
    check("1e3", "1000.0");
    check("tile[t - 1] > 0.5", "true");
    check("tile[tile[2] as usize + 1]", "1.0");
    check("x.len() / 2 - t", "253");
    check("block.x + 1", "2");
    check("*tile[2] + &t as f32", "4.0");
    check("%p1 && true", "true");
}

#[test]
fn a_literal_has_the_width_of_the_other_value() {
    check("tenth == 0.1", "true");
    check("0.1 == tenth", "true");
    check("tenth as f64 == 0.1", "false");
    check("tenth + 0.2", "0.3");
    check("tenth as f64 + 0.2", "0.30000000149011613");
    check("tenth", "0.1");
}

#[test]
fn mistakes_are_named() {
    refused("", "no expression");
    refused("t = 5", "`==` compares");
    refused("a[t", "`]` is missing at the end");
    refused("tile[1.5]", "1.5 is no index");
    refused("1 < 2 < 3", "not chained");
    refused("x.iter()", "only `len()`");
    refused("x.add(3)", "an element is `x[i]`");
    refused("f(x)", "cannot be called");
    refused("x.", "field's name");
    refused("1 / 0", "divided by zero");
    refused("1.0 & 2.0", "cannot be combined");
    refused("true + 1", "cannot be combined");
    refused("5 apples", "`apples` does not belong");
    refused("9u7", "is no number");
    refused("1 as string", "no element type");
    refused("1 << 200", "too large");
    refused("99999999999999999999999999999999999999999", "is no number");
    refused(&"(".repeat(5000), "nested too deeply");
    refused(&"-".repeat(5000), "nested too deeply");
    refused(&"a[".repeat(5000), "nested too deeply");
    refused("é", "`é` is unknown");
    refused("1é", "is no number");
}

#[test]
fn a_value_that_does_not_matter_may_be_unknown() {
    assert_eq!(holds("lane < 5 && unknown == 1"), Ok(false));
    assert_eq!(holds("unknown == 1 && lane < 5"), Ok(false));
    assert_eq!(holds("unknown == 1 || lane == 5"), Ok(true));
    assert!(holds("lane <= 5 && unknown == 1").is_err());
    assert_eq!(holds("tile[3] != 1.5"), Ok(false));
    assert_eq!(holds("0x10 > -1"), Ok(true));
}

#[test]
fn a_condition_is_true_or_false() {
    for text in [
        "",
        "lane",
        "lane ==",
        "== 3",
        "lane = 5",
        "a[b == 1",
        "1 == 2 &&",
        "t + 1",
    ] {
        assert!(Condition::parse(text).is_err(), "{text}");
    }
    let condition = Condition::parse("%p1 && !(t == 3)").expect("a condition");
    assert_eq!(condition.holds(&Known), Ok(false));
    let unknown = condition.unknown(|place| place.name == "t");
    assert_eq!(unknown.as_deref(), Some("%p1"));
    let inside = Condition::parse("tile[y + 1] == 0").expect("a condition");
    assert_eq!(
        inside.unknown(|place| place.name == "tile").as_deref(),
        Some("y")
    );
}
