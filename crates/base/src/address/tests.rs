use super::*;
use core::net::Ipv4Addr;
use proptest::prelude::*;
use std::vec::Vec;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Texts that `inet_aton` or a URL parser reads as an address, and a reader of networks might.
const LAX: [&str; 14] = [
    "010.0.0.1",
    "10.0.0.01",
    "192.168.001.010",
    "00.0.0.0",
    "10.1",
    "10.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0X7F.0.0.1",
    "017700000001",
    "10.0.0.1.",
    "10.0.0.0x1",
];

#[test]
fn an_ipv4_address_has_four_decimal_numbers_without_leading_zeros() {
    assert_eq!(parse_ip("10.0.0.7"), Ok(ip("10.0.0.7")));
    assert_eq!(parse_ip("0.0.0.0"), Ok(ip("0.0.0.0")));
    for text in LAX.into_iter().chain(["", "1.2.3.256", "1.2.3.4.5", " 1.2.3.4", "1.2.3.4%lo"]) {
        assert!(parse_ip(text).is_err() && parse_network(text).is_err(), "{text}");
        assert!(parse_network(&format!("{text}/8")).is_err(), "{text}");
    }
}

#[test]
fn a_mapped_address_is_the_ipv4_address_in_it() {
    for text in ["::ffff:10.0.0.7", "::ffff:a00:7", "0:0:0:0:0:ffff:10.0.0.7"] {
        assert_eq!(parse_ip(text), Ok(ip("10.0.0.7")), "{text}");
        assert_eq!(parse_network(text).map(|net| net.to_string()), Ok("10.0.0.7/32".into()));
        assert_eq!(parse_host(text), Ok(Host::Address(ip("10.0.0.7"))));
    }
    let network = |text| parse_network(text).map(|net| net.to_string());
    assert_eq!(network("::ffff:10.0.0.0/104"), Ok("10.0.0.0/8".into()));
    assert_eq!(network("::ffff:0:0/96"), Ok("0.0.0.0/0".into()));
    assert!(network("::ffff:10.0.0.0/95").is_err_and(|error| error.to_string().contains("96")));
    assert!(parse_ip("::ffff:010.0.0.7").is_err());
}

#[test]
fn a_network_is_what_its_length_says() {
    let network = |text: &str| parse_network(text).map(|net| net.to_string());
    assert_eq!(network("10.1.2.3/8"), Ok("10.0.0.0/8".into()));
    assert_eq!(network("2001:db8::1/32"), Ok("2001:db8::/32".into()));
    assert_eq!(parse_interface("10.1.2.3/8").map(|net| net.to_string()), Ok("10.1.2.3/8".into()));
    assert!(parse_interface("10.1.2.3").is_err(), "no length");
    for len in ["", "33", "08", "+8", "-1", "8/8", "255.0.0.0", "0x8", " 8"] {
        assert!(network(&format!("10.0.0.0/{len}")).is_err(), "{len}");
    }
    assert!(network("::/129").is_err() && network("fe80::1%lo/64").is_err());
}

#[test]
fn a_name_that_the_c_library_reads_as_an_address_is_refused() {
    for text in LAX {
        assert!(parse_host(text).is_err(), "{text}");
    }
    for text in ["", "a b", "a/b", "a\nb", "1.2.3.4.5", "::1::", "\u{ff11}.\u{ff12}", "x%31", "0x"]
    {
        assert!(parse_host(text).is_err(), "{text:?}");
    }
    for text in ["10\u{3002}0\u{3002}0\u{3002}1", "10\u{ff0e}1", "10\u{ff61}0x1"] {
        assert!(parse_host(text).is_err(), "{text:?}");
    }
    let long = "x".repeat(64);
    for text in [".", "..", "a..b", ".a", "a..", &long, &format!("a.{long}.b")] {
        assert!(parse_host(text).is_err_and(|error| error.why().contains("63 bytes")), "{text:?}");
    }
    assert!(
        parse_host(&long[1..]).is_ok() && parse_host("1e3").is_ok() && parse_host("_a.b").is_ok()
    );
    for name in ["localhost", "example.org", "example.org.", "a1", "1a", "0x7g", "3com.example"] {
        assert_eq!(parse_host(name), Ok(Host::Name(name)));
    }
    let zoned = Host::Zoned("fe80::1".parse().expect("one"), "eth0");
    assert_eq!(parse_host("fe80::1%eth0"), Ok(zoned));
    assert!(parse_host("fe80::1%").is_err() && parse_host("10.0.0.1%eth0").is_err());
}

#[test]
fn an_error_says_what_is_wrong() {
    let why = |text| parse_host(text).expect_err("none").to_string();
    assert!(why("010.0.0.1").starts_with("\"010.0.0.1\": ") && why("010.0.0.1").contains("octal"));
    assert!(why("0x7f.1").contains("hexadecimal"));
    assert!(why("10.1").contains("four numbers, and this has 2"));
    assert!(why("1.2.3.256").contains("0 to 255"));
    let zone = parse_ip("fe80::1%eth0").expect_err("none").to_string();
    assert!(zone.contains("zone \"eth0\""), "{zone}");
}

proptest! {
    /// The C library's forms of an address: each number in base 8, 10 or 16, the last one for all that follow.
    #[test]
    fn of_all_forms_of_an_address_only_the_strict_one_is_read(
        bits in any::<u32>(), parts in 1usize..=4, bases in prop::array::uniform4(0u8..3), zeros in 0usize..3,
    ) {
        let octets = bits.to_be_bytes();
        let mut numbers: Vec<u32> = octets[..parts - 1].iter().map(|byte| u32::from(*byte)).collect();
        numbers.push(octets[parts - 1..].iter().fold(0, |all, byte| all << 8 | u32::from(*byte)));
        let text: Vec<String> = numbers.iter().zip(bases).map(|(number, base)| match base {
            0 => format!("{number}"),
            1 => format!("0{}{number:o}", "0".repeat(zeros)),
            _ => format!("0x{}{number:x}", "0".repeat(zeros)),
        }).collect();
        let text = text.join(".");
        let strict = parts == 4 && bases.iter().all(|base| *base == 0);
        prop_assert_eq!(parse_host(&text).is_ok(), strict, "{}", text);
        prop_assert_eq!(parse_ip(&text).ok(), strict.then(|| IpAddr::from(octets)));
    }

    #[test]
    fn a_network_in_either_form_holds_the_same_addresses(bits in any::<u32>(), len in 0u8..=32) {
        let v4 = Ipv4Addr::from(bits);
        let plain = parse_network(&format!("{v4}/{len}")).expect("a network");
        let mapped = parse_network(&format!("{}/{}", v4.to_ipv6_mapped(), len + 96));
        prop_assert_eq!(Ok(plain), mapped);
        prop_assert!(plain.contains(&IpAddr::from(v4)));
    }

    #[test]
    fn any_text_is_read_or_refused_with_one_line(text in "[0-9a-fx.:/%]{0,20}|\\PC{0,30}") {
        let lines = |error: AddressError| error.to_string().lines().count();
        prop_assert!(parse_network(&text).map_or_else(lines, |_| 1) == 1);
        prop_assert!(parse_host(&text).map_or_else(lines, |_| 1) == 1);
    }
}
