//! ECN for the hosts behind a router that do not ask for it (Sprenger 2016): tc programs that stand at
//! the router's interfaces, what loads them and what looks after them.
//!
//! # Example
//!
//! A configuration file becomes a [`config::Config`]; a [`daemon`] serves it.
//!
//! ```
//! use windlass_ecn_proxy::config::{Config, read_text};
//!
//! let text = r#"
//!     schema = 1
//!     client_side = ["lan0"]
//!     deny = ["10.0.0.0/8"]
//! "#;
//! let config = Config::new(read_text("ecn-proxy.toml", text)?)?;
//! assert_eq!(config.client_side, ["lan0"]);
//!
//! let error = read_text("ecn-proxy.toml", "schema = 1\npolcy = \"drop\"").expect_err("no such key");
//! assert!(error.to_string().contains("policy"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
pub mod config;
pub mod daemon;
pub mod datapath;
