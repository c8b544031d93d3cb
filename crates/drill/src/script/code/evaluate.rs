//! Evaluates code.

use super::{Code, Expression, Statement, StatementKind, Value};
use crate::script::error::Position;
use std::collections::BTreeMap;

/// The variables that code has set; they last until the end of the script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, Value>);

/// Why code ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// An assertion does not hold.
    Assertion {
        position: Position,
        /// Its text.
        text: String,
        /// The names in it with their values.
        values: Vec<(String, Value)>,
        /// The value of its message.
        message: Option<String>,
    },
    /// A name that the subject does not have, and code has not set.
    Unknown { name: String },
    /// An operation that its values do not allow.
    Error { position: Position, message: String },
}

/// Why an expression has no value.
enum Stop {
    Unknown(String),
    Error(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Error(message)
    }
}

impl Variables {
    /// Runs code; `outer` are the names that it has beside its own. Returns what it printed.
    pub(crate) fn run(
        &mut self,
        code: &Code,
        outer: &BTreeMap<String, i64>,
    ) -> Result<Vec<String>, Failure> {
        let mut printed = Vec::new();
        for statement in &code.statements {
            self.statement(statement, outer, &mut printed)?;
        }
        Ok(printed)
    }

    fn statement(
        &mut self,
        statement: &Statement,
        outer: &BTreeMap<String, i64>,
        printed: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let position = statement.position;
        let failure = |stop| match stop {
            Stop::Unknown(name) => Failure::Unknown { name },
            Stop::Error(message) => Failure::Error { position, message },
        };
        let scope = Scope { own: &self.0, outer };
        match &statement.kind {
            StatementKind::Assert { condition, message } => {
                if scope.value(condition).map_err(failure)?.is_true() {
                    return Ok(());
                }
                let message = message.as_ref().map(|message| scope.value(message)).transpose();
                Err(Failure::Assertion {
                    position,
                    text: statement.text.clone(),
                    values: scope.named(condition),
                    message: message.map_err(failure)?.map(|value| value.to_string()),
                })
            }
            StatementKind::Print(values) => {
                let texts =
                    values.iter().map(|value| scope.value(value).map(|value| value.to_string()));
                printed.push(texts.collect::<Result<Vec<_>, _>>().map_err(failure)?.join(" "));
                Ok(())
            }
            StatementKind::Assign { name, operator, value } => {
                let mut value = scope.value(value).map_err(failure)?;
                if let Some(operator) = operator {
                    let old = scope.value(&Expression::Name(name.clone())).map_err(failure)?;
                    value = Value::binary(*operator, &old, &value)
                        .map_err(|error| failure(error.into()))?;
                }
                self.0.insert(name.clone(), value);
                Ok(())
            }
            StatementKind::Expression(value) => scope.value(value).map(drop).map_err(failure),
        }
    }
}

struct Scope<'a> {
    own: &'a BTreeMap<String, Value>,
    outer: &'a BTreeMap<String, i64>,
}

impl Scope<'_> {
    fn name(&self, name: &str) -> Result<Value, Stop> {
        let own = self.own.get(name).cloned();
        let outer = || self.outer.get(name).map(|&value| Value::Integer(i128::from(value)));
        own.or_else(outer).ok_or_else(|| Stop::Unknown(name.to_owned()))
    }

    fn value(&self, expression: &Expression) -> Result<Value, Stop> {
        Ok(match expression {
            Expression::Value(value) => value.clone(),
            Expression::Name(name) => self.name(name)?,
            Expression::Tuple(values) => Value::Tuple(
                values.iter().map(|value| self.value(value)).collect::<Result<_, _>>()?,
            ),
            Expression::Negate(value) => self.value(value)?.negated()?,
            Expression::Invert(value) => self.value(value)?.inverted()?,
            Expression::Not(value) => Value::Bool(!self.value(value)?.is_true()),
            Expression::Binary(operator, left, right) => {
                Value::binary(*operator, &self.value(left)?, &self.value(right)?)?
            }
            Expression::Compare(first, rest) => {
                let mut left = self.value(first)?;
                for (comparison, right) in rest {
                    let right = self.value(right)?;
                    if !Value::compare(*comparison, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Expression::And(left, right) => match self.value(left)? {
                left if left.is_true() => self.value(right)?,
                left => left,
            },
            Expression::Or(left, right) => match self.value(left)? {
                left if left.is_true() => left,
                _ => self.value(right)?,
            },
            Expression::Call(name, arguments) => {
                let values = arguments
                    .iter()
                    .map(|value| self.value(value))
                    .collect::<Result<Vec<_>, _>>()?;
                call(name, &values)?
            }
        })
    }

    /// The names in an expression with their values, each once.
    fn named(&self, expression: &Expression) -> Vec<(String, Value)> {
        let mut names = Vec::new();
        collect(expression, &mut names);
        let mut found: Vec<(String, Value)> = Vec::new();
        for name in names {
            if let Ok(value) = self.name(&name)
                && found.iter().all(|(other, _)| *other != name)
            {
                found.push((name, value));
            }
        }
        found
    }
}

fn collect(expression: &Expression, names: &mut Vec<String>) {
    match expression {
        Expression::Value(_) => {}
        Expression::Name(name) => names.push(name.clone()),
        Expression::Tuple(values) | Expression::Call(_, values) => {
            values.iter().for_each(|value| collect(value, names));
        }
        Expression::Negate(value) | Expression::Invert(value) | Expression::Not(value) => {
            collect(value, names)
        }
        Expression::Binary(_, left, right)
        | Expression::And(left, right)
        | Expression::Or(left, right) => {
            collect(left, names);
            collect(right, names);
        }
        Expression::Compare(first, rest) => {
            collect(first, names);
            rest.iter().for_each(|(_, value)| collect(value, names));
        }
    }
}

/// A function of Python.
fn call(name: &str, values: &[Value]) -> Result<Value, Stop> {
    let less = |left: &Value, right: &Value| Value::compare(super::Comparison::Less, left, right);
    match (name, values) {
        ("abs", [value]) => match less(value, &Value::Integer(0))? {
            true => Ok(value.negated()?),
            false => Ok(value.clone()),
        },
        ("int", [Value::Float(value)]) => Ok(Value::Integer(value.trunc() as i128)),
        ("int", [value]) => Ok(Value::Integer(value.integer()?)),
        ("round", [value]) => Ok(Value::Integer(value.float()?.round_ties_even() as i128)),
        ("float", [value]) => Ok(Value::Float(value.float()?)),
        ("min" | "max", [first, rest @ ..]) => {
            let mut best = first;
            for value in rest {
                let (left, right) = if name == "min" { (value, best) } else { (best, value) };
                best = if less(left, right)? { value } else { best };
            }
            Ok(best.clone())
        }
        _ => Err(Stop::Error(format!("code has no function {name} of {} values", values.len()))),
    }
}
