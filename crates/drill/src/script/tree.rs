//! A script as a tree of plain data.

use super::code::Code;
use super::error::Position;
use crate::packet::TcpOption;
use windlass_base::Span;

/// A parsed script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its options, `--mss=1000` and the like, in their order.
    pub options: Vec<ScriptOption>,
    /// Shell commands that run before the first event.
    pub init: Option<Commands>,
    /// The events, in order. There is at least one.
    pub events: Vec<Event>,
    /// Shell commands that run at the end.
    pub cleanup: Option<Commands>,
}

/// An option of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Where it stands.
    pub position: Position,
    /// Its name without dashes.
    pub name: String,
    /// The text behind `=`.
    pub value: Option<String>,
}

/// Shell commands in backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Where they begin.
    pub position: Position,
    /// Their text.
    pub text: String,
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where its time stands.
    pub position: Position,
    /// When it happens.
    pub when: When,
    /// The action.
    pub action: Action,
    /// Its lines as the script has them, without comments around them.
    pub source: String,
}

/// The time of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the start.
    At(Span),
    /// After the event before.
    After(Span),
    /// Between two times since the start.
    Between(Span, Span),
    /// Between two times after the event before.
    AfterBetween(Span, Span),
    /// At any time.
    Any,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet passes.
    Packet(PacketSpec),
    /// The program calls the system.
    Call(CallSpec),
    /// Shell commands run.
    Commands(Commands),
    /// Code looks at the socket.
    Code(Code),
}

/// The direction of a packet, as the subject sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `<`: the script sends it to the subject.
    Inbound,
    /// `>`: the subject sends it.
    Outbound,
}

/// A packet as the script describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSpec {
    /// Which way it goes.
    pub direction: Direction,
    /// Its IP header.
    pub ip: IpSpec,
    /// Headers around it that no subject takes, as `gre`.
    pub encapsulation: Option<String>,
    /// Its ports, source first, where the script names them.
    pub ports: Option<(u16, u16)>,
    /// Its payload.
    pub body: Body,
}

/// The fields of an IP header that a script names.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct IpSpec {
    /// The octet of DSCP and ECN.
    pub tos: Tos,
    /// The flow label of IPv6.
    pub flow_label: Option<u32>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
}

/// The octet of DSCP and ECN in a script.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Tos {
    /// Nothing: an inbound packet has zero, an outbound one is not checked.
    #[default]
    Unspecified,
    /// The two bits of ECN.
    Ecn(u8),
    /// ECT(0) or ECT(1).
    Ect0Or1,
    /// The octet.
    Octet(u8),
}

/// The payload of an IP packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpSpec),
    /// A UDP datagram with this many bytes of payload.
    Udp(u16),
    /// An ICMP message.
    Icmp(IcmpSpec),
}

/// A TCP segment as the script describes it. Numbers are relative as in packetdrill: in a SYN as written, in others
/// to the initial sequence numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSpec {
    /// The control bits: those of RFC 9293 and AE, CWR, ECE.
    pub flags: u16,
    /// The script gives AccECN's counter ACE as a digit.
    pub ace: bool,
    /// The first sequence number.
    pub seq: u32,
    /// Payload in bytes.
    pub len: u16,
    /// The acknowledgment number.
    pub ack: u32,
    /// The window; an outbound packet without one is not checked.
    pub window: Option<u16>,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options in their order; `None` for `<...>`, any.
    pub options: Option<Vec<TcpOption>>,
}

/// An ICMP message as the script describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpSpec {
    /// The name of its type.
    pub kind: String,
    /// The name of its code.
    pub code: Option<String>,
    /// The next hop's MTU.
    pub mtu: Option<u32>,
    /// The identifier of an echo.
    pub id: u16,
    /// The packet that it answers.
    pub echoed: Echoed,
}

/// The packet that an ICMP message answers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Echoed {
    /// A segment that begins with this sequence number, with its payload in bytes.
    Tcp(u32, u16),
    /// A datagram with its payload in bytes.
    Udp(u16),
    /// None; the message is this long.
    Raw(u16),
}

/// A system call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpec {
    /// When a call that blocks returns: since the start, or after the event before, as the event's time.
    pub end: Option<Span>,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// The number that it returns.
    pub result: Expression,
    /// The name of the error that it fails with.
    pub errno: Option<String>,
    /// The text in parentheses behind it.
    pub note: Option<String>,
}

/// An expression in a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `...`
    Ellipsis,
    /// A number.
    Integer(i64),
    /// The name of a constant.
    Name(String),
    /// A text.
    Text(Vec<u8>),
    /// `a | b`
    Or(Box<Expression>, Box<Expression>),
    /// `[a, b]`
    List(Vec<Expression>),
    /// `{a = b, c}`
    Struct(Vec<Field>),
    /// `htons(80)`
    Function(String, Vec<Expression>),
}

/// A field of a structure: `msg_iov(1) = [...]`, `fd = 4`, `...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Option<String>,
    /// The number in parentheses behind the name.
    pub len: Option<Expression>,
    /// Its value.
    pub value: Expression,
}
