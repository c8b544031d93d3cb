//! The page of metrics of a daemon: [`Page`] writes it in Prometheus's text format 0.0.4, and [`serve`]
//! serves it over HTTP.

mod http;
mod page;

pub use http::serve;
pub use page::{Kind, Page};
