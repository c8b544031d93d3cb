//! Calls and their expressions as text, in one form.

use super::tree::{CallSpec, Expression, Field};
use std::fmt;

impl fmt::Display for CallSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) = {}", self.name, Listed(&self.arguments), self.result)?;
        match &self.errno {
            Some(errno) => write!(f, " {errno}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Ellipsis => f.write_str("..."),
            Expression::Integer(value) => write!(f, "{value}"),
            Expression::Name(name) => f.write_str(name),
            Expression::Text(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
            Expression::Or(left, right) => write!(f, "{left}|{right}"),
            Expression::List(items) => write!(f, "[{}]", Listed(items)),
            Expression::Struct(fields) => write!(f, "{{{}}}", Listed(fields)),
            Expression::Function(name, arguments) => write!(f, "{name}({})", Listed(arguments)),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            f.write_str(name)?;
            if let Some(len) = &self.len {
                write!(f, "({len})")?;
            }
            f.write_str("=")?;
        }
        self.value.fmt(f)
    }
}

struct Listed<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, item)| match at {
            0 => item.fmt(f),
            _ => write!(f, ", {item}"),
        })
    }
}
