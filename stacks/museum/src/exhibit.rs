//! The exhibits.

use windlass_judge::{Case, Judgement, Subject, suites};
use windlass_stacks_controllers::OfStack;
use windlass_stacks_smoltcp::{Control, Judged};

/// A bug of a stack, from a public report.
#[derive(Debug)]
pub struct Exhibit {
    /// A short name with hyphens.
    pub name: &'static str,
    /// The crate, as `smoltcp`.
    pub stack: &'static str,
    /// The sender that has it.
    pub sender: Sender,
    /// Where the bug was reported.
    pub report: &'static str,
    /// The course of events, in a sentence or two.
    pub story: &'static str,
    /// The version with the fault that the tests run.
    pub faulty: &'static str,
    /// The first version without it.
    pub mended: &'static str,
    /// Suite and case of the judge.
    pub case: (&'static str, &'static str),
    /// The subject of its plot.
    pub view: View,
    /// How the case came to be, and what was read before.
    pub made: &'static str,
}

/// A sender of a stack.
#[derive(Copy, Clone, Debug)]
pub enum Sender {
    /// smoltcp's TCP, with a controller and with timestamps or without.
    Smoltcp(Control, bool),
    /// A controller on Windlass's engine.
    Controller(&'static str, &'static str),
}

/// The subject of a plot, over time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// The data of each packet.
    Sequence,
    /// Bytes in flight.
    Flight,
}

const BEFORE: &str = "It is a case of the judge that is older than the museum; neither the repair nor its tests were \
                      read.";

/// Every exhibit.
pub static EXHIBITS: &[Exhibit] = &[
    Exhibit {
        name: "a-backoff-that-is-forgotten",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, false),
        report: "https://github.com/smoltcp-rs/smoltcp/pull/1020",
        story: "After a timeout the timer went back to idle, and the next retransmission waited no longer than the \
                first. A host that is not there was called once in each RTO.",
        faulty: "0.12.0",
        mended: "0.13.0",
        case: ("rfc5681", "rto-doubles"),
        view: View::Sequence,
        made: BEFORE,
    },
    Exhibit {
        name: "a-timer-that-no-ack-stops",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, false),
        report: "https://github.com/smoltcp-rs/smoltcp/issues/949",
        story: "While some data was always in flight, acknowledgments did not restart the retransmission timer. On a \
                path with a long round trip it expired again and again, and data was sent twice that had arrived.",
        faulty: "0.12.0",
        mended: "0.13.0",
        case: ("rfc5681", "acks-keep-the-timer-from-expiring"),
        view: View::Sequence,
        made: "It was written for the museum from the report, before the repair was read. A comment of the report \
               quotes the code with the fault and proposes another change.",
    },
    Exhibit {
        name: "a-window-that-is-not-probed",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, false),
        report: "https://github.com/smoltcp-rs/smoltcp/issues/199",
        story: "A sender whose peer had closed its window sent nothing until the peer said that it was open. If that \
                one packet was lost, the connection stood for ever. The report asks to list it as not supported.",
        faulty: "0.12.0",
        mended: "0.13.0",
        case: ("rfc5681", "a-zero-window-is-probed"),
        view: View::Sequence,
        made: "It was written for the museum from the clause and the report, before the repair was read.",
    },
    Exhibit {
        name: "a-window-that-is-not-used",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, false),
        report: "https://github.com/smoltcp-rs/smoltcp/pull/1149",
        story: "The controllers calculated a congestion window, but the socket did not obey it: the whole window of \
                the receiver left at once. The report lists further faults of the controllers.",
        faulty: "0.13.1",
        mended: "0.14.0",
        case: ("rfc5681", "initial-window"),
        view: View::Flight,
        made: BEFORE,
    },
    Exhibit {
        name: "a-loss-that-repeats-the-buffer",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, false),
        report: "https://github.com/smoltcp-rs/smoltcp/pull/1155",
        story: "Three duplicate ACKs sent not only the missing segment again, but all that was in the buffer.",
        faulty: "0.13.1",
        mended: "0.14.0",
        case: ("rfc5681", "fast-retransmit-on-the-third-duplicate"),
        view: View::Sequence,
        made: BEFORE,
    },
    Exhibit {
        name: "options-without-room",
        stack: "smoltcp",
        sender: Sender::Smoltcp(Control::Reno, true),
        report: "https://github.com/smoltcp-rs/smoltcp/pull/1161",
        story: "With timestamps a full segment was twelve bytes larger than a packet may be. Without IP \
                fragmentation such a packet never left, and the connection stood.",
        faulty: "0.13.1",
        mended: "0.14.0",
        case: ("rfc5681", "options-leave-less-room-for-data"),
        view: View::Sequence,
        made: "It was written for the museum from the report, before the repair was read. The connection that \
               stands was seen first, in the older cases.",
    },
    Exhibit {
        name: "a-reduction-that-counts-twice",
        stack: "quinn-proto",
        sender: Sender::Controller("quinn", "cubic"),
        report: "https://github.com/quinn-rs/quinn/pull/2640",
        story: "A loss below the plateau of the one before lowered first W_max by fast convergence, and then the \
                window by 0.7 of that: 0.595 of the window were left.",
        faulty: "0.11.14",
        mended: "0.11.15",
        case: ("rfc8511", "a-loss-leaves-seven-tenths-of-cubics-window"),
        view: View::Flight,
        made: BEFORE,
    },
    Exhibit {
        name: "a-reduction-that-counts-twice-in-noq",
        stack: "noq-proto",
        sender: Sender::Controller("noq", "cubic"),
        report: "https://github.com/quinn-rs/quinn/pull/2640",
        story: "noq began as a copy of quinn, with its CUBIC, and took the repair over a month later. Marks reduced \
                as much as losses.",
        faulty: "1.0.1",
        mended: "1.1.0",
        case: ("rfc9438", "an-echo-leaves-seven-tenths"),
        view: View::Flight,
        made: BEFORE,
    },
    Exhibit {
        name: "an-initial-window-of-65535-bytes",
        stack: "noq-proto",
        sender: Sender::Controller("noq", "bbr3"),
        report: "https://github.com/n0-computer/noq/pull/785",
        story: "BBR's initial window was bounded by the largest datagram that UDP has, in place of the one that a \
                path begins with. The first flight had 45 segments.",
        faulty: "1.0.1",
        mended: "1.2.0",
        case: ("rfc5681", "initial-window"),
        view: View::Flight,
        made: "It is a case of the judge that is older than the museum. A comment in the source of the mended \
               version, which explains the bound, was read before the two versions were compared.",
    },
];

impl Exhibit {
    /// The exhibit of that name.
    pub fn by_name(name: &str) -> Option<&'static Exhibit> {
        EXHIBITS.iter().find(|exhibit| exhibit.name == name)
    }

    /// Its case.
    ///
    /// # Errors
    ///
    /// The judge has no such case.
    pub fn case(&self) -> Result<&'static Case, String> {
        let (suite, case) = self.case;
        let cases = suites::parse(suite)?.cases.iter();
        cases.into_iter().find(|known| known.name == case).ok_or_else(|| format!("no case {case}"))
    }

    /// The judgement of the version with which this program was built.
    ///
    /// # Errors
    ///
    /// There is no such sender or no such case.
    pub fn judge(&self) -> Result<Judgement, String> {
        let subject: Box<dyn Subject> = match self.sender {
            Sender::Smoltcp(control, timestamps) => Box::new(Judged { control, timestamps }),
            Sender::Controller(stack, name) => Box::new(OfStack::named(stack, Some(name))?),
        };
        Ok(self.case()?.judge(&*subject))
    }
}
