//! The name under which the kernel knows a loaded controller.

use std::fmt;
use std::str::FromStr;

/// The longest name that the kernel takes (TCP_CA_NAME_MAX less the zero at its end).
const LEN_MAX: usize = 15;

/// The kernel's name for a controller: 1 to 15 letters, digits and underscores.
///
/// The kernel refuses dashes in the names of BPF objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The kernel's form of the name, padded with zeros.
    pub(crate) fn to_bytes(&self) -> [u8; LEN_MAX + 1] {
        let mut bytes = [0; LEN_MAX + 1];
        bytes[..self.0.len()].copy_from_slice(self.0.as_bytes());
        bytes
    }
}

impl Default for Name {
    /// The name `new_ecn`.
    fn default() -> Name {
        Name("new_ecn".to_owned())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=LEN_MAX).contains(&text.len()) && text.bytes().all(allowed) {
            return Ok(Name(text.to_owned()));
        }
        Err(format!("{text:?} is no name: 1 to 15 letters, digits and underscores"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_kernel_takes() {
        for good in ["new_ecn", "a", "NewEcn2", "exactly_15_byte"] {
            assert_eq!(good.parse::<Name>().expect(good).as_str(), good);
        }
        for bad in ["", "new-ecn", "sixteen_bytes_ab", "a b", "ä", "../x", "a.b"] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
