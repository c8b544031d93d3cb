mod dns;
mod icmp;
mod packet;
pub mod stack;
