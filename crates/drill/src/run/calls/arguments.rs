//! Evaluates the arguments of a call.

use crate::constants;
use crate::script::{CallSpec, Expression, Field};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The largest buffer of a call, in bytes.
const LEN_MAX: i64 = 1 << 26;

/// The arguments of a call, whose number is right.
#[derive(Copy, Clone, Debug)]
pub(super) struct Arguments<'a>(&'a [Expression]);

impl<'a> Arguments<'a> {
    pub(super) fn of(
        spec: &'a CallSpec,
        counts: std::ops::RangeInclusive<usize>,
    ) -> Result<Self, String> {
        let found = spec.arguments.len();
        if counts.contains(&found) {
            return Ok(Arguments(&spec.arguments));
        }
        let (least, most) = counts.into_inner();
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(format!("expected {expected} arguments, found {found}"))
    }

    pub(super) fn get(&self, at: usize) -> &'a Expression {
        self.0.get(at).unwrap_or(&Expression::Ellipsis)
    }

    pub(super) fn number(&self, at: usize) -> Result<i64, String> {
        number(self.get(at))
    }

    /// A number of 32 bits, signed or not.
    pub(super) fn int(&self, at: usize) -> Result<i32, String> {
        int(self.get(at))
    }

    pub(super) fn len(&self, at: usize) -> Result<usize, String> {
        len(self.get(at))
    }

    /// The number in brackets.
    pub(super) fn bracketed(&self, at: usize) -> Result<i32, String> {
        bracketed(self.get(at))
    }

    /// Whether a buffer is a null pointer; otherwise it is `...`.
    pub(super) fn is_null(&self, at: usize) -> Result<bool, String> {
        match self.get(at) {
            Expression::Ellipsis => Ok(false),
            other if number(other) == Ok(0) => Ok(true),
            other => Err(format!("expected `...` or NULL as the buffer, found `{other}`")),
        }
    }
}

/// The value of a number, a constant, or several with `|`.
pub(super) fn number(expression: &Expression) -> Result<i64, String> {
    match expression {
        Expression::Integer(value) => Ok(*value),
        Expression::Name(name) => constants::value(name),
        Expression::Or(left, right) => Ok(number(left)? | number(right)?),
        Expression::Function(name, arguments) => function(name, arguments),
        other => Err(format!("expected a number, found `{other}`")),
    }
}

/// Numbers in the order of the network, as the bytes of memory.
fn function(name: &str, arguments: &[Expression]) -> Result<i64, String> {
    match (name, arguments) {
        ("htons", [port]) => {
            let port = number(port)?;
            let port =
                u16::try_from(port).map_err(|_| format!("the port {port} is out of range"))?;
            Ok(i64::from(u16::from_ne_bytes(port.to_be_bytes())))
        }
        ("inet_addr", [Expression::Text(text)]) => {
            let text = String::from_utf8_lossy(text);
            let address: Ipv4Addr =
                text.parse().map_err(|_| format!("{text:?} is no IPv4 address"))?;
            Ok(i64::from(u32::from_ne_bytes(address.octets())))
        }
        _ => Err(format!("expressions have no function `{name}` of {} values", arguments.len())),
    }
}

pub(super) fn int(expression: &Expression) -> Result<i32, String> {
    let value = number(expression)?;
    match i32::try_from(value).or_else(|_| u32::try_from(value).map(|value| value as i32)) {
        Ok(value) => Ok(value),
        Err(_) => Err(format!("the number {value} is out of range")),
    }
}

pub(super) fn len(expression: &Expression) -> Result<usize, String> {
    match number(expression)? {
        len @ 0..=LEN_MAX => Ok(len as usize),
        len => Err(format!("expected a length from 0 to {LEN_MAX}, found {len}")),
    }
}

pub(super) fn bracketed(expression: &Expression) -> Result<i32, String> {
    match expression {
        Expression::List(items) if items.len() == 1 => int(&items[0]),
        other => Err(format!("expected a number in brackets, found `{other}`")),
    }
}

/// The bytes of an option's value.
pub(super) fn option_value(expression: &Expression) -> Result<Vec<u8>, String> {
    match expression {
        Expression::List(_) => Ok(bracketed(expression)?.to_ne_bytes().to_vec()),
        Expression::Text(bytes) => Ok(bytes.clone()),
        Expression::Struct(fields) => {
            let fields = Fields::of(fields, &["onoff", "linger"], "{onoff=1, linger=2}")?;
            let values = [int(fields.get("onoff")?)?, int(fields.get("linger")?)?];
            Ok(values.iter().flat_map(|value| value.to_ne_bytes()).collect())
        }
        Expression::Function(name, arguments) if name == "inet6_addr" => match &arguments[..] {
            [Expression::Text(text)] => {
                let text = String::from_utf8_lossy(text);
                let address: Ipv6Addr =
                    text.parse().map_err(|_| format!("{text:?} is no IPv6 address"))?;
                Ok(address.octets().to_vec())
            }
            _ => Err("expected inet6_addr(\"ADDRESS\")".to_owned()),
        },
        other => Err(format!(
            "expected a value as [1], \"text\" or {{onoff=1, linger=2}}, found `{other}`"
        )),
    }
}

/// The fields of a structure by their names.
#[derive(Copy, Clone, Debug)]
pub(super) struct Fields<'a>(&'a [Field]);

impl<'a> Fields<'a> {
    /// Those of a structure that has only these names; `form` is how it looks.
    pub(super) fn of(
        fields: &'a [Field],
        names: &[&str],
        form: &str,
    ) -> Result<Fields<'a>, String> {
        let strange = fields
            .iter()
            .find(|field| !field.name.as_deref().is_some_and(|name| names.contains(&name)));
        match strange {
            Some(field) => Err(format!("expected a structure as {form}, found `{field}` in it")),
            None => Ok(Fields(fields)),
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&'a Field> {
        self.0.iter().find(|field| field.name.as_deref() == Some(name))
    }

    pub(super) fn get(&self, name: &str) -> Result<&'a Expression, String> {
        let found = self.field(name).map(|field| &field.value);
        found.ok_or_else(|| format!("expected the field {name}"))
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'a Expression> {
        self.field(name).map(|field| &field.value)
    }
}

/// The fields of an argument that is a structure.
pub(super) fn structure<'a>(
    expression: &'a Expression,
    names: &[&str],
    form: &str,
) -> Result<Fields<'a>, String> {
    match expression {
        Expression::Struct(fields) => Fields::of(fields, names, form),
        other => Err(format!("expected a structure as {form}, found `{other}`")),
    }
}

/// The lengths of buffers, as `[{..., 10}, {..., 20}]`.
pub(super) fn buffers(expression: &Expression) -> Result<Vec<usize>, String> {
    let form = || format!("expected buffers as [{{..., 10}}], found `{expression}`");
    let Expression::List(items) = expression else { return Err(form()) };
    let buffer = |item: &Expression| match item {
        Expression::Struct(fields)
            if fields.len() == 2 && fields[0].value == Expression::Ellipsis =>
        {
            len(&fields[1].value)
        }
        _ => Err(form()),
    };
    items.iter().map(buffer).collect()
}
