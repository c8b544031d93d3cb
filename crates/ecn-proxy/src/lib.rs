//! ECN for the hosts behind a router that do not ask for it (Sprenger 2016): tc programs that stand at
//! the router's interfaces, what loads them and what looks after them.
//!
//! # Example
//!
//! A configuration file becomes a [`config::Config`]; a [`daemon`] serves it.
//!
//! ```
//! use windlass_ecn_proxy::config::Config;
//!
//! let text = r#"
//!     schema = 1
//!     client_side = ["lan0"]
//!     deny = ["10.0.0.0/8"]
//! "#;
//! let config = Config::from_toml("ecn-proxy.toml", text)?;
//! assert_eq!(config.client_side, ["lan0"]);
//!
//! let error = Config::from_toml("ecn-proxy.toml", "schema = 1\npolcy = \"drop\"");
//! assert!(error.expect_err("no such key").contains("did you mean \"policy\"?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
pub mod config;
pub mod daemon;
pub mod datapath;
