//! Values of code.

use super::{Comparison, Operator};
use std::cmp::Ordering;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer; unlike Python's it has an end.
    Integer(i128),
    /// A number with a point.
    Float(f64),
    /// A text.
    Text(String),
    /// True or false.
    Bool(bool),
    /// Several values.
    Tuple(Vec<Value>),
}

/// A number of either kind.
#[derive(Copy, Clone)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Value {
    /// Whether a condition with this value holds.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Integer(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Bool(value) => *value,
            Value::Tuple(values) => !values.is_empty(),
        }
    }

    fn number(&self) -> Result<Number, String> {
        match self {
            Value::Integer(value) => Ok(Number::Integer(*value)),
            Value::Bool(value) => Ok(Number::Integer(i128::from(*value))),
            Value::Float(value) => Ok(Number::Float(*value)),
            Value::Text(_) | Value::Tuple(_) => Err(format!("expected a number, found {self}")),
        }
    }

    pub(super) fn integer(&self) -> Result<i128, String> {
        match self.number()? {
            Number::Integer(value) => Ok(value),
            Number::Float(_) => Err(format!("expected an integer, found {self}")),
        }
    }

    pub(super) fn float(&self) -> Result<f64, String> {
        Ok(match self.number()? {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        })
    }

    pub(super) fn negated(&self) -> Result<Value, String> {
        Ok(match self.number()? {
            Number::Integer(value) => Value::Integer(value.checked_neg().ok_or(TOO_LARGE)?),
            Number::Float(value) => Value::Float(-value),
        })
    }

    pub(super) fn inverted(&self) -> Result<Value, String> {
        self.integer().map(|value| Value::Integer(!value))
    }

    /// The value of `left operator right`.
    pub(super) fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value, String> {
        match (operator, left, right) {
            (Operator::Modulo, Value::Text(pattern), _) => {
                formatted(pattern, right).map(Value::Text)
            }
            (Operator::Add, Value::Text(left), Value::Text(right)) => {
                Ok(Value::Text(format!("{left}{right}")))
            }
            _ => match (left.number()?, right.number()?) {
                (Number::Integer(left), Number::Integer(right)) => integers(operator, left, right),
                _ => floats(operator, left.float()?, right.float()?).map(Value::Float),
            },
        }
    }

    /// Whether `left comparison right` holds.
    pub(super) fn compare(
        comparison: Comparison,
        left: &Value,
        right: &Value,
    ) -> Result<bool, String> {
        let order = match (left, right) {
            (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
            (Value::Tuple(_), _)
            | (_, Value::Tuple(_))
            | (Value::Text(_), _)
            | (_, Value::Text(_)) => {
                return match comparison {
                    Comparison::Equal => Ok(left == right),
                    Comparison::NotEqual => Ok(left != right),
                    _ => Err(format!("{left} and {right} have no order")),
                };
            }
            _ => match (left.number()?, right.number()?) {
                (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
                _ => left.float()?.partial_cmp(&right.float()?),
            },
        };
        Ok(match comparison {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => {
                matches!(order, Some(Ordering::Greater | Ordering::Equal))
            }
        })
    }
}

const TOO_LARGE: &str = "the number is too large";
const BY_ZERO: &str = "division by zero";

fn integers(operator: Operator, left: i128, right: i128) -> Result<Value, String> {
    let shift =
        || u32::try_from(right).ok().filter(|&shift| shift < 128).ok_or("a shift out of range");
    let value = match operator {
        Operator::Divide if right == 0 => return Err(BY_ZERO.to_owned()),
        Operator::Divide => return Ok(Value::Float(left as f64 / right as f64)),
        Operator::FloorDivide | Operator::Modulo if right == 0 => return Err(BY_ZERO.to_owned()),
        // Python rounds down, and its remainder has the sign of the divisor.
        Operator::FloorDivide => left
            .checked_div(right)
            .map(|quotient| quotient - i128::from(left % right != 0 && (left < 0) != (right < 0))),
        Operator::Modulo => left
            .checked_rem(right)
            .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Power if right < 0 => {
            return Ok(Value::Float((left as f64).powi(right.max(-1024) as i32)));
        }
        Operator::Power => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        Operator::BitOr => Some(left | right),
        Operator::BitXor => Some(left ^ right),
        Operator::BitAnd => Some(left & right),
        Operator::ShiftRight => Some(left >> shift()?),
        Operator::ShiftLeft => {
            let shift = shift()?;
            left.checked_shl(shift).filter(|value| value >> shift == left)
        }
    };
    value.map(Value::Integer).ok_or_else(|| TOO_LARGE.to_owned())
}

fn floats(operator: Operator, left: f64, right: f64) -> Result<f64, String> {
    Ok(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide | Operator::FloorDivide | Operator::Modulo if right == 0.0 => {
            return Err(BY_ZERO.to_owned());
        }
        Operator::Divide => left / right,
        Operator::FloorDivide => (left / right).floor(),
        Operator::Modulo => left - right * (left / right).floor(),
        Operator::Power => left.powf(right),
        _ => return Err("bits of a number with a point".to_owned()),
    })
}

/// `pattern % value` of Python, with the conversions d, i, u, s, r, x, f and g, and `%%`. Widths are left out.
fn formatted(pattern: &str, value: &Value) -> Result<String, String> {
    let mut values = match value {
        Value::Tuple(values) => values.iter(),
        single => std::slice::from_ref(single).iter(),
    };
    let mut text = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let conversion = rest.find(|c| !(c.is_ascii_digit() || "#+-. l".contains(*c)));
        if conversion == Some('%') {
            text.push('%');
            continue;
        }
        let value = values.next().ok_or("too few values for the text")?;
        text += &match conversion {
            Some('d' | 'i' | 'u') => (value.float()? as i128).to_string(),
            Some('x') => format!("{:x}", value.integer()?),
            Some('f') => format!("{:.6}", value.float()?),
            Some('s' | 'g') => value.to_string(),
            Some('r') => format!("{value:#}"),
            _ => return Err(format!("the text {pattern:?} has a conversion that Python lacks")),
        };
    }
    Ok(text)
}

/// As Python prints it; with `#` a text has quotes.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) if f.alternate() => write!(f, "'{text}'"),
            Value::Text(text) => f.write_str(text),
            Value::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Value::Tuple(values) => {
                let texts: Vec<String> = values.iter().map(|value| format!("{value:#}")).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}
