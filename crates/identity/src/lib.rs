//! Identities of hosts: Ed25519 keys (RFC 8032), their text form, and the files that hold them.
//!
//! A host is known by its [`PublicKey`], written as 52 characters of base32. It proves possession
//! of the [`SecretKey`] by signatures. [`load_or_create`] reads the secret key from a file, or
//! makes both on first use.
//!
//! # Example
//!
//! ```
//! use windlass_identity::{PublicKey, SecretKey};
//!
//! let secret = SecretKey::generate()?;
//! let text = secret.public_key().to_string();
//! assert_eq!(text.len(), 52);
//!
//! let public: PublicKey = text.parse()?;
//! public.verify(b"message", &secret.sign(b"message"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod key_file;
mod public_key;
mod secret_key;

pub use key_file::{KeyFileError, default_path, load, load_or_create};
pub use public_key::{BadSignature, NotEd25519, ParseKeyError, PublicKey};
pub use secret_key::{NoRandomness, SecretKey};

/// The examples of the README as doc tests.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
