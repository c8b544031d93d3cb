//! DNS messages of the forwarder, the name server that the command sees (RFC 1035, RFC 6891). The far
//! end answers; this module checks that its answer fits the query, and cuts an answer that is too long
//! for UDP. `stack/names.rs` passes the messages on.

use domain::base::iana::{Opcode, Rcode};
use domain::base::{Message, MessageBuilder};

/// The longest answer over UDP to a query without EDNS (RFC 1035 section 2.3.4).
const UDP_LEN_MIN: usize = 512;
/// The longest payload of a datagram over IPv4. A packet of the default MTU has room for it, so no answer
/// is fragmented.
const UDP_LEN_MAX: usize = 65_507;
/// The UDP payload size that answers with EDNS state: what passes any link (DNS flag day 2020).
const UDP_LEN_OWN: u16 = 1232;

/// Whether the bytes are a query: a whole header, no answer, and one question that can be read.
pub(crate) fn is_query(message: &[u8]) -> bool {
    let Ok(message) = Message::from_octets(message) else { return false };
    let header = message.header();
    !header.qr() && header.opcode() == Opcode::QUERY && message.sole_question().is_ok()
}

/// Whether `answer` is one to `query`: the same identifier and the same question.
pub(crate) fn is_answer_to(answer: &[u8], query: &[u8]) -> bool {
    let (Ok(answer), Ok(query)) = (Message::from_octets(answer), Message::from_octets(query))
    else {
        return false;
    };
    if !answer.header().qr() || answer.header().id() != query.header().id() {
        return false;
    }
    match (answer.sole_question(), query.sole_question()) {
        (Ok(one), Ok(other)) => one == other,
        // A server that could not read the query repeats no question (RFC 1035 section 4.1.1).
        (Err(_), Ok(_)) => answer.header().rcode() == Rcode::FORMERR,
        _ => false,
    }
}

/// The answer that the server could not find out; `None` if `query` is no query.
pub(crate) fn server_failure(query: &[u8]) -> Option<Vec<u8>> {
    let query = Message::from_octets(query).ok()?;
    let builder = MessageBuilder::new_vec().start_answer(&query, Rcode::SERVFAIL).ok()?;
    Some(builder.finish())
}

/// The answer as it goes to the asker over UDP. One that is longer than the asker takes is cut to the
/// question, with the TC bit set: the asker repeats the query over TCP (RFC 2181 section 9). `None` if one of the
/// two messages cannot be read; then the asker gets nothing and asks again.
pub(crate) fn for_udp(query: &[u8], answer: Vec<u8>) -> Option<Vec<u8>> {
    let query = Message::from_octets(query).ok()?;
    let edns = query.opt();
    let room = edns.as_ref().map_or(0, |opt| usize::from(opt.udp_payload_size()));
    if answer.len() <= room.clamp(UDP_LEN_MIN, UDP_LEN_MAX) {
        return Some(answer);
    }
    let answer = Message::from_octets(answer).ok()?;
    let mut cut = MessageBuilder::new_vec().start_answer(&query, answer.header().rcode()).ok()?;
    let (from, to) = (answer.header(), cut.header_mut());
    to.set_aa(from.aa());
    to.set_ra(from.ra());
    to.set_ad(from.ad());
    to.set_tc(true);
    let mut additional = cut.additional();
    if edns.is_some() {
        // RFC 6891 section 6.1.1: a query with OPT gets an answer with it.
        additional
            .opt(|opt| {
                opt.set_udp_payload_size(UDP_LEN_OWN);
                Ok(())
            })
            .ok()?;
    }
    Some(additional.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::base::Name;
    use domain::base::iana::Rtype;
    use domain::rdata::Txt;
    use std::str::FromStr;

    fn query(name: &str, udp_len: Option<u16>) -> Vec<u8> {
        let mut builder = MessageBuilder::new_vec();
        builder.header_mut().set_id(77);
        builder.header_mut().set_rd(true);
        let mut question = builder.question();
        question
            .push((Name::<Vec<u8>>::from_str(name).expect("a name"), Rtype::TXT))
            .expect("room");
        let mut additional = question.additional();
        if let Some(len) = udp_len {
            additional
                .opt(|opt| {
                    opt.set_udp_payload_size(len);
                    Ok(())
                })
                .expect("room");
        }
        additional.finish()
    }

    /// An answer with `records` records of about 200 bytes.
    fn answer(query: &[u8], records: usize) -> Vec<u8> {
        let query = Message::from_octets(query).expect("a message");
        let mut builder =
            MessageBuilder::new_vec().start_answer(&query, Rcode::NOERROR).expect("room");
        builder.header_mut().set_ra(true);
        let name = Name::<Vec<u8>>::from_str("example.org").expect("a name");
        for _ in 0..records {
            let text: Txt<Vec<u8>> = Txt::build_from_slice(&[b'x'; 180]).expect("short");
            builder.push((&name, 60, text)).expect("room");
        }
        builder.finish()
    }

    #[test]
    fn a_query_is_distinguished_from_an_answer_and_from_junk() {
        let query = query("example.org", None);
        assert!(is_query(&query));
        assert!(!is_query(&answer(&query, 1)));
        assert!(!is_query(&query[..13]));
        assert!(!is_query(b"junk"));
    }

    #[test]
    fn an_answer_belongs_to_its_query_alone() {
        let (one, other) = (query("example.org", None), query("example.com", None));
        assert!(is_answer_to(&answer(&one, 1), &one));
        assert!(!is_answer_to(&answer(&one, 1), &other));
        assert!(!is_answer_to(&one, &one));
        let mut strange = answer(&one, 1);
        strange[0] ^= 1;
        assert!(!is_answer_to(&strange, &one));
    }

    #[test]
    fn names_are_compared_without_case() {
        let (one, other) = (query("example.org", None), query("EXAMPLE.org", None));
        assert!(is_answer_to(&answer(&one, 1), &other));
    }

    #[test]
    fn a_long_answer_is_cut_for_udp_and_says_so() {
        let query = query("example.org", None);
        let short = answer(&query, 1);
        assert_eq!(for_udp(&query, short.clone()), Some(short));
        let cut = for_udp(&query, answer(&query, 5)).expect("an answer");
        let message = Message::from_octets(&cut[..]).expect("a message");
        assert!(message.header().tc() && message.header().ra() && message.header().rd());
        assert_eq!(message.header_counts().ancount(), 0);
        assert!(message.opt().is_none());
        assert!(is_answer_to(&cut, &query));
    }

    #[test]
    fn an_asker_with_edns_gets_as_much_as_it_takes() {
        let query = query("example.org", Some(1232));
        let long = answer(&query, 5);
        assert_eq!(for_udp(&query, long.clone()), Some(long));
        let cut = for_udp(&query, answer(&query, 9)).expect("an answer");
        let message = Message::from_octets(&cut[..]).expect("a message");
        assert!(message.header().tc());
        assert_eq!(message.opt().map(|opt| opt.udp_payload_size()), Some(UDP_LEN_OWN));
    }

    #[test]
    fn an_answer_longer_than_a_datagram_is_cut_whatever_the_asker_takes() {
        let query = query("example.org", Some(u16::MAX));
        let long = answer(&query, 321);
        assert!(long.len() > UDP_LEN_MAX && long.len() < usize::from(u16::MAX));
        let cut = for_udp(&query, long).expect("an answer");
        assert!(Message::from_octets(&cut[..]).expect("a message").header().tc());
    }

    #[test]
    fn a_failure_repeats_the_question() {
        let query = query("example.org", None);
        let failure = server_failure(&query).expect("a query");
        assert!(is_answer_to(&failure, &query));
        let message = Message::from_octets(&failure[..]).expect("a message");
        assert_eq!(message.header().rcode(), Rcode::SERVFAIL);
        assert_eq!(server_failure(b"junk"), None);
    }
}
