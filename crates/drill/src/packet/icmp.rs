//! The names of ICMP messages (RFC 792, RFC 4443), as scripts write them.

use windlass_base::suggest::did_you_mean;

/// Type and its name, codes and theirs.
type Message = (u8, &'static str, &'static [(u8, &'static str)]);

const V4: [Message; 7] = [
    (0, "echo_reply", &[]),
    (
        3,
        "unreachable",
        &[
            (0, "net_unreachable"),
            (1, "host_unreachable"),
            (2, "protocol_unreachable"),
            (3, "port_unreachable"),
            (4, "frag_needed"),
            (5, "source_route_failed"),
            (6, "net_unknown"),
            (7, "host_unknown"),
            (8, "source_host_isolated"),
            (9, "net_prohibited"),
            (10, "host_prohibited"),
            (11, "net_unreachable_for_tos"),
            (12, "host_unreachable_for_tos"),
            (13, "packet_filtered"),
            (14, "precedence_violation"),
            (15, "precedence_cutoff"),
        ],
    ),
    (4, "source_quench", &[]),
    (5, "redirect", &[]),
    (8, "echo_request", &[]),
    (11, "time_exceeded", &[]),
    (12, "parameter_problem", &[]),
];

const V6: [Message; 6] = [
    (
        1,
        "unreachable",
        &[
            (0, "no_route"),
            (0, "net_unreachable"),
            (1, "admin_prohibited"),
            (2, "not_neighbour"),
            (3, "address_unreachable"),
            (4, "port_unreachable"),
        ],
    ),
    (2, "packet_too_big", &[]),
    (3, "time_exceeded", &[(0, "exceeded_hop_limit"), (1, "exceeded_frag_time")]),
    (
        4,
        "parameter_problem",
        &[(0, "header_field"), (1, "unknown_next_header"), (2, "unknown_option")],
    ),
    (128, "echo_request", &[]),
    (129, "echo_reply", &[]),
];

/// The numbers of a message; `None` if this version of IP has no such message. `type_3` and `code_1` give them.
pub fn numbers(v6: bool, kind: &str, code: Option<&str>) -> Option<(u8, u8)> {
    let messages: &[Message] = if v6 { &V6 } else { &V4 };
    let known = messages.iter().find(|message| message.1 == kind);
    let number =
        |text: &str, prefix: &str| text.strip_prefix(prefix).and_then(|text| text.parse().ok());
    let kind = number(kind, "type_").or(known.map(|message| message.0))?;
    let Some(code) = code else { return Some((kind, 0)) };
    let codes = known.map_or(&[][..], |message| message.2);
    let known = codes.iter().find(|(_, name)| *name == code).map(|(number, _)| *number);
    number(code, "code_").or(known).map(|code| (kind, code))
}

/// Checks that either version of IP has such a message.
///
/// # Errors
///
/// Neither has.
pub fn known(kind: &str, code: Option<&str>) -> Result<(), String> {
    if [false, true].into_iter().any(|v6| numbers(v6, kind, code).is_some()) {
        return Ok(());
    }
    let names = || V4.iter().chain(&V6);
    if [false, true].into_iter().all(|v6| numbers(v6, kind, None).is_none()) {
        let near = did_you_mean(kind, names().map(|message| message.1));
        return Err(format!("no ICMP message is named `{kind}`{near}"));
    }
    let code = code.unwrap_or_default();
    let codes = names().filter(|message| message.1 == kind).flat_map(|message| message.2);
    let near = did_you_mean(code, codes.map(|(_, name)| *name));
    Err(format!("the ICMP message `{kind}` has no code `{code}`{near}"))
}
