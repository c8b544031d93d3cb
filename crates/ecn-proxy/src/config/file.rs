//! The TOML file of the configuration. The error lists every mistake with its line and key.

use super::{PIN_FOLDER, Pin, Settings, value};
use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_base::paths::in_folder;
use windlass_base::suggest::did_you_mean;
use windlass_base::text_file;

/// The version of the format.
const SCHEMA_VERSION: &str = "1";
/// Largest accepted file in bytes, more than full lists need.
const LEN_MAX: u64 = 1 << 20;

/// The file could not be read, or contains mistakes.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The file could not be read.
    Io(PathBuf, io::Error),
    /// The mistakes, in the order of the file.
    Faults(Vec<Fault>),
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The key; empty if the text is not TOML.
    pub key: String,
    /// The form that was expected, and the value that was found.
    pub message: String,
}

impl Fault {
    /// File, line and key.
    pub fn place(&self) -> String {
        let Fault { file, line, key, .. } = self;
        if key.is_empty() { format!("{file}:{line}") } else { format!("{file}:{line}: {key}") }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            FileError::Faults(faults) => {
                let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

impl std::error::Error for FileError {}

/// Reads and checks a configuration file.
///
/// # Errors
/// The file cannot be read, is not TOML, or has an unknown key or an invalid value.
pub fn read_file(path: &Path) -> Result<Settings, FileError> {
    let io = |error| FileError::Io(path.to_owned(), error);
    if fs::metadata(path).map_err(io)?.len() > LEN_MAX {
        let message = format!("expected at most {LEN_MAX} bytes");
        return Err(io(io::Error::new(io::ErrorKind::InvalidData, message)));
    }
    let text = text_file::read(path).map_err(io)?;
    read_text(&path.display().to_string(), &text)
}

/// Parses the text of a file; `name` is the file name for messages.
///
/// # Errors
///
/// As [`read_file`].
pub fn read_text(name: &str, text: &str) -> Result<Settings, FileError> {
    let listed = |mut faults: Vec<FieldError>| {
        faults.sort_by_key(|fault| fault.span.start);
        FileError::Faults(faults.into_iter().map(|fault| fault.in_file(name, text)).collect())
    };
    let table =
        DeTable::parse(text).map_err(|error| listed(vec![FieldError::of_syntax(&error)]))?;
    // Relative paths begin where the file is.
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let mut settings = Settings::default();
    let mut faults = Vec::new();
    let mut schema = false;
    for (key, value) in table.into_inner() {
        schema |= key.get_ref() == "schema";
        let place = key.span();
        let key = key.into_inner();
        if let Err(fault) = set(&mut settings, (&key, place), value, folder) {
            faults.push(FieldError { key: key.into_owned(), ..fault });
        }
    }
    if !schema {
        let message = format!("expected schema = {SCHEMA_VERSION}, the version of the format");
        faults.push(FieldError { key: "schema".into(), span: 0..0, message });
    }
    if faults.is_empty() { Ok(settings) } else { Err(listed(faults)) }
}

/// The keys, for who has written another.
const KEYS: &str = "schema, client_side, network_side, policy, fallback, allow, deny, ports, deny_ports, \
    flows_max, handshakes_max, hosts_max, idle_timeout, closing_timeout, mark_bit, metrics, pin, socket, log, log_format";

fn set(
    to: &mut Settings,
    (key, place): (&str, Range<usize>),
    found: Found<'_>,
    folder: &Path,
) -> Result<(), FieldError> {
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
        "socket" => to.socket = Some(text(found, |text| in_folder(folder, text))?),
        "log" => to.log = Some(text(found, value::parse_log)?),
        "log_format" => to.log_format = Some(text(found, value::parse_log_format)?),
        _ => {
            let hint = did_you_mean(key, KEYS.split(", "));
            return Err(FieldError::at(
                place,
                format!("unknown key, expected one of {KEYS}{hint}"),
            ));
        }
    }
    Ok(())
}

type Found<'a> = Spanned<DeValue<'a>>;

fn text<T>(found: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, FieldError> {
    match found.get_ref() {
        DeValue::String(text) => {
            parse(text).map_err(|message| FieldError::at(found.span(), message))
        }
        other => Err(FieldError::kind(&found, "a text in quotes", other)),
    }
}

fn number<T>(found: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, FieldError> {
    match found.get_ref() {
        DeValue::Integer(number) => {
            parse(&decimal(number)).map_err(|message| FieldError::at(found.span(), message))
        }
        other => Err(FieldError::kind(&found, "a whole number", other)),
    }
}

/// Digits without underscores; what is not decimal stays as it stands, for the fault.
fn decimal(number: &toml::de::DeInteger<'_>) -> String {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => number.to_string(),
        Err(_) => number.as_str().to_owned(),
    }
}

fn flag(found: Found<'_>) -> Result<bool, FieldError> {
    match found.get_ref() {
        DeValue::Boolean(value) => Ok(*value),
        other => Err(FieldError::kind(&found, "true or false", other)),
    }
}

fn pin(found: Found<'_>) -> Result<Pin, FieldError> {
    match found.get_ref() {
        DeValue::Boolean(pin) => Ok(Pin(pin.then(|| PIN_FOLDER.into()))),
        DeValue::String(folder) if folder.starts_with('/') => Ok(Pin(Some(folder.as_ref().into()))),
        other => Err(FieldError::kind(&found, "true, false or the path of a folder", other)),
    }
}

/// A list of texts; a single number, such as a port, may stand without quotes.
fn list<T>(
    found: Found<'_>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, FieldError> {
    let span = found.span();
    match found.into_inner() {
        DeValue::Array(items) => items.into_iter().map(|item| one(item, &parse)).collect(),
        other => Err(FieldError::kind(&Spanned::new(span, ()), "a list", &other)),
    }
}

fn one<T>(item: Found<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, FieldError> {
    match item.get_ref() {
        DeValue::Integer(_) => number(item, parse),
        _ => text(item, parse),
    }
}

/// A mistake and its place in the text.
#[derive(Debug)]
struct FieldError {
    span: Range<usize>,
    key: String,
    message: String,
}

impl FieldError {
    fn at(span: Range<usize>, message: String) -> FieldError {
        FieldError { span, key: String::new(), message }
    }

    fn kind<T>(at: &Spanned<T>, expected: &str, found: &DeValue<'_>) -> FieldError {
        FieldError::at(at.span(), format!("expected {expected}, found {}", described(found)))
    }

    fn of_syntax(error: &toml::de::Error) -> FieldError {
        FieldError::at(error.span().unwrap_or_default(), error.message().replace('\n', ", "))
    }

    fn in_file(self, name: &str, text: &str) -> Fault {
        let before = text.as_bytes().get(..self.span.start).unwrap_or(text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Fault { file: name.to_owned(), line, key: self.key, message: self.message }
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
