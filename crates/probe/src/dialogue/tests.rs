//! Each dialogue against the words of a real server, in pieces of every size.

use super::*;
use url::Url;

fn dialogue(url: &str) -> Dialogue {
    let url = Url::parse(url).expect("a URL");
    Dialogue::of(&url, "x", &Exchange::default()).expect("a dialogue")
}

/// Says the server's turns one after the other, in pieces of `piece` bytes, and returns what the dialogue
/// sent before and between them.
fn converse(dialogue: &Dialogue, turns: &[&[u8]], piece: usize) -> (Talk, Vec<String>) {
    let (mut talker, mut talk) = (dialogue.start(), Talk::default());
    talker.open(&mut talk);
    let mut sent = vec![String::from_utf8_lossy(&std::mem::take(&mut talk.out)).into_owned()];
    for turn in turns {
        for bytes in turn.chunks(piece) {
            talker.hear(bytes, &mut talk);
        }
        if std::mem::take(&mut talk.wants_tls) {
            talker.secured(&mut talk);
        }
        sent.push(String::from_utf8_lossy(&std::mem::take(&mut talk.out)).into_owned());
    }
    (talk, sent)
}

/// The state in which a dialogue has the whole answer, for pieces of every size.
fn hears_all(url: &str, turns: &[&[u8]]) -> Vec<String> {
    let mut all = Vec::new();
    for piece in [1, 2, 3, 7, 100, 1 << 20] {
        let (talk, sent) = converse(&dialogue(url), turns, piece);
        let state = (talk.asked, talk.begun, talk.ended, talk.trouble);
        assert_eq!(state, (true, true, true, None), "{url} in pieces of {piece}");
        all.push(sent);
    }
    assert!(all.windows(2).all(|two| two[0] == two[1]), "{url}");
    all.pop().expect("six")
}

fn trouble(url: &str, turns: &[&[u8]]) -> String {
    let (talk, _) = converse(&dialogue(url), turns, 5);
    talk.trouble.unwrap_or_else(|| panic!("{url}: no trouble"))
}

#[test]
fn smtp_says_ehlo_and_pipelines_recipients_without_a_mail() {
    let replies = b"250 2.1.5 Ok\r\n".repeat(501);
    let ehlo = &b"250-mail.example\r\n250-PIPELINING\r\n250 SIZE\r\n"[..];
    let sent = hears_all("smtp://h/", &[b"220-mail\r\n220 ESMTP\r\n", ehlo, &replies]);
    assert_eq!(&sent[..2], ["", "EHLO windlass-probe.invalid\r\n"]);
    assert!(sent[2].starts_with("MAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nRCPT"));
    assert_eq!(sent[2].matches("RCPT").count(), 500);
    assert!(!sent.concat().contains("DATA"));
    let sent = hears_all("smtp://h/", &[b"220 x\r\n", b"250 x\r\n", b"214 none\r\n"]);
    assert_eq!(sent[2], "HELP\r\n", "without PIPELINING one command at a time");
    let hello = "EHLO windlass-probe.invalid\r\n";
    let turns = [b"220 x\r\n", ehlo, b"220 go ahead\r\n", ehlo, &replies];
    let sent = hears_all("smtp+starttls://h/", &turns);
    assert_eq!(&sent[..4], ["", hello, "STARTTLS\r\n", hello]);
    assert!(trouble("smtp://h/", &[b"554 no\r\n"]).contains("554 no"));
    assert!(trouble("smtp://h/", &[b"220 x\r\n", b"502 no\r\n"]).contains("EHLO"));
    assert!(trouble("smtp+starttls://h/", &[b"220 x\r\n", ehlo, b"454 no\r\n"]).contains("454"));
}

#[test]
fn imap_asks_before_the_greeting_unless_tls_comes_first() {
    let replies = "* CAPABILITY IMAP4rev1\r\na OK done\r\n".repeat(64);
    let sent = hears_all("imap://h/", &[b"* OK ready\r\n", replies.as_bytes()]);
    assert!(sent[0].starts_with("a CAPABILITY\r\na CAPABILITY\r\n"));
    let turns = [&b"* OK ready\r\ns OK begin\r\n"[..], replies.as_bytes()];
    let sent = hears_all("imap+starttls://h/", &turns);
    assert_eq!((sent[0].as_str(), sent[1].starts_with("a CAP")), ("s STARTTLS\r\n", true));
    assert!(trouble("imap://h/", &[b"* BYE busy\r\n"]).contains("BYE busy"));
    assert!(trouble("imap+starttls://h/", &[b"* OK x\r\ns BAD no\r\n"]).contains("STARTTLS"));
}

#[test]
fn nntp_asks_at_once_for_help_or_an_article() {
    let list = "101 capabilities\r\nVERSION 2\r\n.\r\n480 who?\r\n";
    let help = format!("200 hello\r\n{list}{}", "100 help\r\nGROUP\r\n..\r\n.\r\n".repeat(64));
    let sent = hears_all("nntp://h/", &[help.as_bytes()]);
    assert_eq!(sent[0], format!("CAPABILITIES\r\nLIST\r\n{}", "HELP\r\n".repeat(64)));
    let articles = "220 1 <a@b> article\r\nFrom: x\r\n\r\nx\r\n.\r\n".repeat(64);
    let by_id = format!("201 hello\r\n{articles}");
    for url in ["nntp://h/a@b", "nntp://h/%3Ca@b%3E"] {
        assert_eq!(hears_all(url, &[by_id.as_bytes()])[0], "ARTICLE <a@b>\r\n".repeat(64));
    }
    let by_group = format!("200 hello\r\n211 9 1 9 a.b\r\n{articles}");
    let sent = hears_all("nntp://h/a.b", &[by_group.as_bytes()]);
    assert_eq!(sent[0], format!("GROUP a.b\r\n{}", "ARTICLE\r\n".repeat(64)));
    let sent = hears_all("nntp://h/a.b/7", &[by_group.as_bytes()]);
    assert!(sent[0].ends_with("\r\nARTICLE 7\r\n"));
    let turns = [b"200 hello\r\n382 go ahead\r\n", &by_id.as_bytes()[11..]];
    let sent = hears_all("nntp+starttls://h/a@b", &turns);
    assert_eq!((sent[0].as_str(), &sent[1][..9]), ("STARTTLS\r\n", "ARTICLE <"));
    let refusals = [
        ("nntp://h/", "502 no\r\n", "the connection"),
        ("nntp://h/a.b", "200 x\r\n411 no such group\r\n", "411"),
        ("nntp://h/a.b", "200 x\r\n211 0 1 0 a.b\r\n420 empty\r\n", "420"),
        ("nntp://h/a@b", "200 x\r\n401 MODE-READER\r\n", "MODE-READER"),
        ("nntp+starttls://h/", "200 x\r\n580 no\r\n", "STARTTLS"),
        ("nntp://h/", "200 x\r\nxyz\r\n", "xyz"),
        ("nntp://h/a@b", "200 x\r\n400 no history\r\n", "no history"),
    ];
    for (url, said, why) in refusals {
        assert!(trouble(url, &[said.as_bytes()]).contains(why), "{said}");
    }
    let closes = b"200 x\r\n101 x\r\n.\r\n400 overload\r\n";
    let (talk, _) = converse(&dialogue("nntp://h/"), &[closes], 1);
    assert_eq!((talk.ended, talk.trouble), (true, None), "the server closes");
}

#[test]
fn redis_counts_replies_whether_statistics_or_errors() {
    let info = b"$7\r\n# a\r\nb:\r\n".repeat(64);
    assert_eq!(hears_all("redis://h/", &[&info])[0], "INFO\r\n".repeat(64));
    hears_all("redis://h/", &[&b"-NOAUTH Authentication required.\r\n".repeat(64)]);
    assert!(trouble("redis://h/", &[b"HTTP/1.1 400\r\n"]).contains("HTTP"));
}

fn ssh_packet(message: u8, len: usize) -> Vec<u8> {
    let mut packet = (len as u32).to_be_bytes().to_vec();
    packet.extend([4, message]);
    packet.resize(4 + len, 0);
    packet
}

#[test]
fn ssh_sends_its_half_of_the_key_exchange_at_once_and_ends_with_newkeys() {
    let mut answer = b"hello\r\nSSH-2.0-OpenSSH_9.2\r\n".to_vec();
    for (message, len) in [(20, 1000), (31, 800), (21, 12)] {
        answer.extend(ssh_packet(message, len));
    }
    let sent = hears_all("ssh://h/", &[&answer]);
    assert!(sent[0].starts_with("SSH-2.0-windlass_probe\r\n") && sent[0].contains("curve25519"));
    let (talk, _) = converse(&dialogue("ssh://h/"), &[b"SSH-2.0-x\r\n"], 1);
    assert_eq!((talk.begun, talk.server.as_deref()), (false, Some("SSH-2.0-x")));
    assert!(trouble("ssh://h/", &[b"SSH-1.5-x\r\n"]).contains("SSH-1.5"));
    assert!(trouble("ssh://h/", &[b"SSH-2.0-x\r\nabcdefgh"]).contains("no packet"));
}

#[test]
fn rsync_asks_for_the_list_or_for_a_file() {
    let list = &b"@RSYNCD: 31.0 md5\nwelcome\npub  files\n@RSYNCD: EXIT\n"[..];
    assert_eq!(hears_all("rsync://h/", &[list])[0], "@RSYNCD: 27\n#list\n");
    let file = &b"@RSYNCD: 31.0\n@RSYNCD: OK\n\0\0\0\0"[..];
    let (talk, sent) = converse(&dialogue("rsync://h/pub/a%20b"), &[file], 4);
    assert!(sent[0].starts_with("@RSYNCD: 27\npub\n--server\n--sender\n.\npub/a b\n\n\0"));
    assert_eq!((talk.begun, talk.ended, talk.trouble), (true, false, None));
    let refused = &b"@RSYNCD: 31.0\n@ERROR: Unknown module 'pub'\n"[..];
    assert!(trouble("rsync://h/pub/x", &[refused]).contains("Unknown module"));
    assert!(trouble("rsync://h/", &[b"SSH-2.0-x\n"]).contains("SSH"));
}

#[test]
fn ftp_opens_a_port_and_asks_for_the_file() {
    let replies: [&[u8]; 6] = [
        b"220 hello\r\n",
        b"331 password\r\n",
        b"230-welcome\r\n230 in\r\n",
        b"200 binary\r\n",
        b"213 500000\r\n",
        b"229 Entering (|||40001|)\r\n",
    ];
    let (talk, sent) = converse(&dialogue("ftp://h/a%20b"), &replies, 3);
    let expected =
        ["", "USER anonymous\r\n", "PASS windlass-probe@\r\n", "TYPE I\r\n", "SIZE a b\r\n"];
    assert_eq!(sent[..5], expected);
    assert_eq!(sent[5..], ["EPSV\r\n", "RETR a b\r\n"]);
    assert_eq!((talk.opened, talk.asked), (Some(40_001), true));
    let old: [&[u8]; 5] =
        [b"220 x\r\n230 in\r\n", b"200 x\r\n", b"500 EPSV\r\n", b"227 (1,2,3,4,156,65)\r\n", b""];
    let (talk, sent) = converse(&dialogue("ftp://u:p@h/"), &old, 100);
    assert_eq!((talk.opened, sent[4].as_str()), (Some(40_001), "LIST\r\n"));
    let missing = [replies[0], replies[1], replies[2], replies[3], b"550 no such file\r\n"];
    assert!(trouble("ftp://h/x", &missing).contains("550 no such file"));
    assert!(trouble("ftp://h/x", &[b"220 x\r\n", b"530 no\r\n"]).contains("USER"));
}

#[test]
fn bittorrent_requests_the_pieces_that_the_peer_has_once_it_may() {
    let url = "bittorrent://h:6881/000102030405060708090a0b0c0d0e0f10111213";
    let mut hello = b"\x13BitTorrent protocol\0\0\0\0\0\0\0\0".to_vec();
    hello.extend(0..20);
    hello.extend(b"-TR4000-123456789012");
    // A keepalive, pieces 0 and 9 and piece 12 besides, and the leave to ask.
    let pieces = b"\0\0\0\0\0\0\0\x03\x05\x80\x40\0\0\0\x05\x04\0\0\0\x0c\0\0\0\x01\x01";
    let mut blocks = Vec::new();
    for _ in 0..3 {
        blocks.extend([0, 0, 0, 13, 7]);
        blocks.extend([0; 12]);
    }
    let sent = hears_all(url, &[&hello, pieces, &blocks]);
    assert_eq!(sent[2].matches("\0\0\0\r\x06").count(), 3, "{:?}", sent[2]);
    let other = dialogue("bittorrent://h:6881/ff0102030405060708090a0b0c0d0e0f10111213");
    assert!(converse(&other, &[&hello], 9).0.trouble.is_some());
}

#[test]
fn a_text_of_the_user_ends_where_the_expression_matches() {
    let exchange = Exchange::new(b"stats\r\n".to_vec(), Some(r"(?m)^END\r$"));
    let dialogue = Dialogue::plain(&exchange.expect("an expression"));
    assert!(Exchange::new(Vec::new(), Some("(")).is_err());
    for piece in [1, 4, 1000] {
        let stats = b"STAT a 1\r\n".repeat(500);
        let (talk, sent) = converse(&dialogue, &[&stats], piece);
        assert_eq!((sent[0].as_str(), talk.begun, talk.ended), ("stats\r\n", true, false));
        let all = [&stats[..], b"END\r\n"].concat();
        assert!(converse(&dialogue, &[&all], piece).0.ended, "{piece}");
    }
    assert_eq!(unescape(r"a\r\n\\\x00\t"), Ok(b"a\r\n\\\0\t".to_vec()));
    for bad in [r"\q", r"\x0", r"\xzz", "\\"] {
        assert!(unescape(bad).is_err(), "{bad}");
    }
}

#[test]
fn urls_without_what_their_dialogue_needs_are_refused() {
    let of = |text: &str| {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        Dialogue::of(&url, "x", &Exchange::default())
    };
    for bad in [
        "gopher://h/",
        "smtp:x",
        "tcp://h/",
        "bittorrent://h:1/",
        "bittorrent://h:1/zz0102030405060708090a0b0c0d0e0f10111213",
        "ftp://h/a%0d%0aDELE%20b",
        "rsync://h/a%0ab",
        "nntp://h/a%0d%0aPOST",
        "redis://h:0/",
    ] {
        assert!(of(bad).is_err(), "{bad}");
    }
    let names =
        NAMES.map(|name| of(&format!("{name}://h:1/{}", "00".repeat(20))).expect(name).kind.name);
    assert_eq!(names.len(), NAMES.len());
}
