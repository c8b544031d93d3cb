//! The TOML file. Every fault is told with its line and its key, all of them at once.

use super::{PIN_FOLDER, Pin, Settings, value};
use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The version of the format.
const SCHEMA_VERSION: &str = "1";
/// More than a file with full lists needs.
const LEN_MAX: u64 = 1 << 20;

/// Why a file could not be read, or what is wrong in it.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read.
    Io(PathBuf, io::Error),
    /// A line for each fault: file, line, key, what was expected.
    Faults(String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            FileError::Faults(lines) => f.write_str(lines),
        }
    }
}

impl std::error::Error for FileError {}

/// Reads the file.
///
/// # Errors
///
/// It cannot be read, is no TOML, has a key that is not known or a value that makes no sense.
pub fn read_file(path: &Path) -> Result<Settings, FileError> {
    let io = |error| FileError::Io(path.to_owned(), error);
    if fs::metadata(path).map_err(io)?.len() > LEN_MAX {
        let message = format!("expected at most {LEN_MAX} bytes");
        return Err(io(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    let text = fs::read_to_string(path).map_err(io)?;
    read_text(&path.display().to_string(), &text)
}

/// Reads the text of a file of that name.
///
/// # Errors
///
/// As [`read_file`].
pub fn read_text(name: &str, text: &str) -> Result<Settings, FileError> {
    let told = |mut faults: Vec<Fault>| {
        faults.sort_by_key(|fault| fault.span.start);
        let lines: Vec<String> = faults.iter().map(|fault| fault.line(name, text)).collect();
        FileError::Faults(lines.join("\n"))
    };
    let table = DeTable::parse(text).map_err(|error| told(vec![Fault::of_syntax(&error)]))?;
    let mut settings = Settings::default();
    let mut faults = Vec::new();
    let mut schema = false;
    for (key, value) in table.into_inner() {
        schema |= key.get_ref() == "schema";
        let place = key.span();
        let key = key.into_inner();
        if let Err(fault) = set(&mut settings, &key, place, value) {
            faults.push(Fault { key: key.into_owned(), ..fault });
        }
    }
    if !schema {
        let message = format!("expected schema = {SCHEMA_VERSION}, the version of the format");
        faults.push(Fault { key: "schema".into(), span: 0..0, message });
    }
    if faults.is_empty() { Ok(settings) } else { Err(told(faults)) }
}

/// The keys, for who has written another.
const KEYS: &str = "schema, client_side, network_side, policy, fallback, allow, deny, ports, deny_ports, \
    flows_max, handshakes_max, hosts_max, idle_timeout, closing_timeout, mark_bit, metrics, pin, socket, log_format";

fn set(to: &mut Settings, key: &str, place: Range<usize>, found: Found<'_>) -> Result<(), Fault> {
    match key {
        "schema" => drop(number(found, |text| match text == SCHEMA_VERSION {
            true => Ok(()),
            false => Err(format!("expected {SCHEMA_VERSION}, the only version, found {text}")),
        })?),
        "client_side" => to.client_side = Some(list(found, value::parse_interface)?),
        "network_side" => to.network_side = Some(list(found, value::parse_interface)?),
        "policy" => to.policy = Some(text(found, value::parse_policy)?),
        "fallback" => to.fallback = Some(flag(found)?),
        "allow" => to.allow = Some(list(found, value::parse_prefix)?),
        "deny" => to.deny = Some(list(found, value::parse_prefix)?),
        "ports" => to.ports = Some(list(found, value::parse_ports)?),
        "deny_ports" => to.deny_ports = Some(list(found, value::parse_ports)?),
        "flows_max" => to.flows_max = Some(number(found, value::parse_size)?),
        "handshakes_max" => to.handshakes_max = Some(number(found, value::parse_size)?),
        "hosts_max" => to.hosts_max = Some(number(found, value::parse_size)?),
        "idle_timeout" => to.idle_timeout = Some(text(found, value::parse_timeout)?),
        "closing_timeout" => to.closing_timeout = Some(text(found, value::parse_timeout)?),
        "mark_bit" => to.mark_bit = Some(number(found, value::parse_mark_bit)?),
        "metrics" => to.metrics = Some(text(found, value::parse_metrics)?),
        "pin" => to.pin = Some(pin(found)?),
        "socket" => to.socket = Some(text(found, |text| Ok(text.into()))?),
        "log_format" => to.log_format = Some(text(found, value::parse_log_format)?),
        _ => return Err(Fault::at(place, format!("unknown key, expected one of {KEYS}"))),
    }
    Ok(())
}

type Found<'a> = Spanned<DeValue<'a>>;

fn text<T>(found: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Fault> {
    match found.get_ref() {
        DeValue::String(text) => parse(text).map_err(|told| Fault::at(found.span(), told)),
        other => Err(Fault::kind(&found, "a text in quotes", other)),
    }
}

fn number<T>(found: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Fault> {
    match found.get_ref() {
        DeValue::Integer(number) => {
            parse(&decimal(number)).map_err(|told| Fault::at(found.span(), told))
        }
        other => Err(Fault::kind(&found, "a whole number", other)),
    }
}

/// Digits without underscores; what is not decimal stays as it stands, for the fault.
fn decimal(number: &toml::de::DeInteger<'_>) -> String {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => number.to_string(),
        Err(_) => number.as_str().to_owned(),
    }
}

fn flag(found: Found<'_>) -> Result<bool, Fault> {
    match found.get_ref() {
        DeValue::Boolean(value) => Ok(*value),
        other => Err(Fault::kind(&found, "true or false", other)),
    }
}

fn pin(found: Found<'_>) -> Result<Pin, Fault> {
    match found.get_ref() {
        DeValue::Boolean(pin) => Ok(Pin(pin.then(|| PIN_FOLDER.into()))),
        DeValue::String(folder) if folder.starts_with('/') => Ok(Pin(Some(folder.as_ref().into()))),
        other => Err(Fault::kind(&found, "true, false or the path of a folder", other)),
    }
}

/// A list of texts; a single number, such as a port, may stand without quotes.
fn list<T>(found: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Fault> {
    let span = found.span();
    match found.into_inner() {
        DeValue::Array(items) => items.into_iter().map(|item| one(item, &parse)).collect(),
        other => Err(Fault::kind(&Spanned::new(span, ()), "a list", &other)),
    }
}

fn one<T>(item: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Fault> {
    match item.get_ref() {
        DeValue::Integer(_) => number(item, parse),
        _ => text(item, parse),
    }
}

/// Something wrong, and where in the text.
#[derive(Debug)]
struct Fault {
    span: Range<usize>,
    key: String,
    message: String,
}

impl Fault {
    fn at(span: Range<usize>, message: String) -> Fault {
        Fault { span, key: String::new(), message }
    }

    fn kind<T>(at: &Spanned<T>, expected: &str, found: &DeValue<'_>) -> Fault {
        Fault::at(at.span(), format!("expected {expected}, found {}", described(found)))
    }

    fn of_syntax(error: &toml::de::Error) -> Fault {
        Fault::at(error.span().unwrap_or_default(), error.message().replace('\n', ", "))
    }

    /// File, line, key, message.
    fn line(&self, name: &str, text: &str) -> String {
        let before = text.as_bytes().get(..self.span.start).unwrap_or(text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        match self.key.is_empty() {
            true => format!("{name}:{line}: {}", self.message),
            false => format!("{name}:{line}: {}: {}", self.key, self.message),
        }
    }
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
