//! Misuse and failures give the errno that a TCP socket gives.

mod common;

use common::{Api, Outcome, loopback, set_nonblocking, wait_for};
use libc::{c_int, socklen_t};
use std::mem::size_of;
use std::ptr::{null, null_mut};
use tou::abi::{SOL_TOU, TOU_ECN_ECHO, TOU_RETRIES};

/// A name, and a function that makes calls and returns their results.
type Case = (&'static str, fn(Api) -> Vec<Outcome>);

const LEN: socklen_t = size_of::<libc::sockaddr_in>() as socklen_t;

fn with_socket(api: Api, calls: impl FnOnce(c_int) -> Vec<Outcome>) -> Vec<Outcome> {
    let fd = api.fresh();
    let outcomes = calls(fd);
    api.close(fd);
    outcomes
}

fn with_pair(api: Api, calls: impl FnOnce(c_int, c_int) -> Vec<Outcome>) -> Vec<Outcome> {
    let (client, server) = api.pair();
    let outcomes = calls(client, server);
    api.close(client);
    api.close(server);
    outcomes
}

fn with_listener(api: Api, calls: impl FnOnce(c_int) -> Vec<Outcome>) -> Vec<Outcome> {
    let fd = api.listener();
    let outcomes = calls(fd);
    api.close(fd);
    outcomes
}

/// Makes every call that takes a descriptor.
fn all_calls(api: Api, fd: c_int) -> Vec<Outcome> {
    let error = (libc::SOL_SOCKET, libc::SO_ERROR);
    let (mut address, mut len) = (loopback(0), LEN);
    vec![
        api.bind(fd, 0),
        api.listen(fd, 1),
        api.accept(fd),
        api.connect(fd, 1),
        api.send(fd, b"x"),
        api.recv(fd, &mut [0]),
        api.shutdown(fd, libc::SHUT_WR),
        api.get(fd, error),
        api.set(fd, (libc::IPPROTO_TCP, libc::TCP_NODELAY), 1),
        api.getsockname_raw(fd, (&raw mut address).cast(), &raw mut len),
        api.getpeername(fd),
    ]
}

/// A port that refuses connections: it is bound and does not listen.
fn refusing(api: Api) -> (c_int, u16) {
    let fd = api.fresh();
    assert_eq!(api.bind(fd, 0), 0);
    (fd, api.port(fd))
}

/// Resets the connection of `client`: its peer closes with unread data (RFC 2525 §2.17).
fn reset(api: Api, client: c_int, server: c_int) {
    assert_eq!(api.send(client, b"never read"), 10);
    wait_for(server, libc::POLLIN);
    assert_eq!(api.close(server), 0);
    wait_for(client, libc::POLLERR | libc::POLLHUP);
}

const CASES: &[Case] = &[
    ("no descriptor", |api| [-1, 1_000_000].iter().flat_map(|fd| all_calls(api, *fd)).collect()),
    ("a descriptor of another kind", |api| {
        let file = std::fs::File::open("/dev/null").expect("is there");
        all_calls(api, std::os::fd::AsRawFd::as_raw_fd(&file))
    }),
    ("kinds of sockets", |api| {
        [
            (libc::AF_UNSPEC, libc::SOCK_STREAM, 0),
            (9999, libc::SOCK_STREAM, 0),
            (libc::AF_INET, 99, 0),
            (libc::AF_INET, 0, 0),
            (libc::AF_INET, libc::SOCK_STREAM, 99),
        ]
        .iter()
        .map(|(domain, kind, protocol)| api.socket(*domain, *kind, *protocol))
        .collect()
    }),
    ("before it is connected", |api| {
        with_socket(api, |fd| {
            let null_pointer = api.send_raw(fd, null(), 3, 0);
            vec![
                api.send(fd, b"x"),
                null_pointer,
                api.recv(fd, &mut [0]),
                api.recv_raw(fd, null_mut(), 1, 0),
                api.shutdown(fd, libc::SHUT_RDWR),
                api.getpeername(fd),
                api.accept(fd),
                api.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
            ]
        })
    }),
    ("bind", |api| {
        with_socket(api, |fd| {
            let mut other = loopback(0);
            let raw = (&raw const other).cast();
            let mut outcomes = vec![
                api.bind_raw(fd, null(), LEN),
                api.bind_raw(fd, null(), 0),
                api.bind_raw(fd, raw, 0),
                api.bind_raw(fd, raw, LEN - 1),
                api.bind_raw(fd, raw, 1000),
            ];
            other.sin_family = libc::AF_INET6 as _;
            outcomes.push(api.bind_raw(fd, (&raw const other).cast(), LEN));
            other = loopback(0);
            // A documentation address (RFC 5737), which no host has.
            other.sin_addr.s_addr = u32::from_be_bytes([192, 0, 2, 1]).to_be();
            outcomes.push(api.bind_raw(fd, (&raw const other).cast(), LEN));
            outcomes.extend([api.bind(fd, 0), api.bind(fd, 0)]);
            outcomes
        })
    }),
    ("a port in use", |api| {
        with_listener(api, |listener| with_socket(api, |fd| vec![api.bind(fd, api.port(listener))]))
    }),
    ("calls on a listener", |api| {
        with_listener(api, |fd| {
            vec![
                api.listen(fd, 5),
                api.bind(fd, 0),
                api.connect(fd, 1),
                api.send(fd, b"x"),
                api.recv(fd, &mut [0]),
                api.getpeername(fd),
                api.get(fd, (libc::SOL_SOCKET, libc::SO_ACCEPTCONN)),
                {
                    set_nonblocking(fd);
                    api.accept(fd)
                },
                api.shutdown(fd, libc::SHUT_RD),
                api.accept(fd),
            ]
        })
    }),
    ("connect's address", |api| {
        with_socket(api, |fd| {
            let mut other = loopback(1);
            let raw = (&raw const other).cast();
            let mut outcomes = vec![
                api.connect_raw(fd, null(), LEN),
                api.connect_raw(fd, raw, LEN - 1),
                api.connect_raw(fd, raw, 1000),
                api.connect(fd, 0),
            ];
            other.sin_family = libc::AF_INET6 as _;
            outcomes.push(api.connect_raw(fd, (&raw const other).cast(), LEN));
            outcomes
        })
    }),
    ("multicast and broadcast take no connections", |api| {
        [[224, 0, 0, 1], [255, 255, 255, 255]]
            .into_iter()
            .flat_map(|ip| {
                with_socket(api, |fd| {
                    let mut other = loopback(1);
                    other.sin_addr.s_addr = u32::from_be_bytes(ip).to_be();
                    vec![api.connect_raw(fd, (&raw const other).cast(), LEN)]
                })
            })
            .collect()
    }),
    ("refused", |api| {
        let (deaf, port) = refusing(api);
        let outcomes = with_socket(api, |fd| {
            vec![
                api.connect(fd, port),
                api.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
                api.send(fd, b"x"),
                api.getpeername(fd),
                // A second attempt.
                api.connect(fd, port),
            ]
        });
        api.close(deaf);
        outcomes
    }),
    ("refused without waiting", |api| {
        let (deaf, port) = refusing(api);
        let outcomes = with_socket(api, |fd| {
            set_nonblocking(fd);
            // TCP on the loopback device may fail at once; either result is allowed.
            let begun = api.connect(fd, port);
            assert!([-libc::EINPROGRESS, -libc::ECONNREFUSED].map(i64::from).contains(&begun));
            wait_for(fd, libc::POLLIN | libc::POLLOUT);
            vec![
                api.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
                api.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
                api.send(fd, b"x"),
            ]
        });
        api.close(deaf);
        outcomes
    }),
    ("connected without waiting", |api| {
        with_listener(api, |listener| {
            with_socket(api, |fd| {
                set_nonblocking(fd);
                let begun = api.connect(fd, api.port(listener));
                wait_for(fd, libc::POLLOUT);
                vec![
                    begun,
                    api.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR)),
                    api.connect(fd, api.port(listener)),
                    api.connect(fd, api.port(listener)),
                    api.recv(fd, &mut [0]),
                ]
            })
        })
    }),
    ("connected", |api| {
        with_pair(api, |client, _server| {
            vec![
                api.connect(client, 1),
                api.listen(client, 1),
                api.bind(client, 0),
                api.accept(client),
                api.shutdown(client, 7),
                api.send_raw(client, null(), 5, 0),
                api.send_raw(client, null(), 0, 0),
                api.get(client, (libc::SOL_SOCKET, libc::SO_TYPE)),
                api.get(client, (libc::SOL_SOCKET, libc::SO_ACCEPTCONN)),
            ]
        })
    }),
    ("null pointers to receive into", |api| {
        with_pair(api, |client, server| {
            assert_eq!(api.send(server, b"abc"), 3);
            wait_for(client, libc::POLLIN);
            vec![
                api.recv_raw(client, null_mut(), 3, 0),
                api.recv_raw(client, null_mut(), 0, 0),
                api.recv(client, &mut [0; 8]),
            ]
        })
    }),
    ("nothing there yet", |api| {
        with_pair(api, |client, _server| {
            let at_once = api.recv_raw(client, [0u8; 4].as_mut_ptr().cast(), 4, libc::MSG_DONTWAIT);
            set_nonblocking(client);
            vec![at_once, api.recv(client, &mut [0])]
        })
    }),
    ("after the end of one way", |api| {
        with_pair(api, |client, server| {
            let closed = api.shutdown(client, libc::SHUT_WR);
            wait_for(server, libc::POLLIN);
            vec![
                closed,
                api.shutdown(client, libc::SHUT_WR),
                api.send(client, b"x"),
                api.recv(server, &mut [0]),
                api.recv(server, &mut [0]),
                api.send(server, b"late"),
                {
                    wait_for(client, libc::POLLIN);
                    api.recv(client, &mut [0; 8])
                },
            ]
        })
    }),
    ("after a reset", |api| {
        let (client, server) = api.pair();
        reset(api, client, server);
        let outcomes = vec![
            api.recv(client, &mut [0]),
            api.recv(client, &mut [0]),
            api.send(client, b"x"),
            api.get(client, (libc::SOL_SOCKET, libc::SO_ERROR)),
            api.shutdown(client, libc::SHUT_WR),
            api.getpeername(client),
            api.close(client),
        ];
        outcomes
    }),
    ("SO_ERROR after a reset", |api| {
        let (client, server) = api.pair();
        reset(api, client, server);
        let option = (libc::SOL_SOCKET, libc::SO_ERROR);
        vec![
            api.get(client, option),
            api.get(client, option),
            api.recv(client, &mut [0]),
            api.close(client),
        ]
    }),
    ("options", |api| {
        let (socket, tcp) = (libc::SOL_SOCKET, libc::IPPROTO_TCP);
        with_socket(api, |fd| {
            let one: c_int = 1;
            let pointer = (&raw const one).cast();
            let mut len: socklen_t = 4;
            let mut negative = socklen_t::MAX;
            let mut value: c_int = 0;
            let time = |tv_sec, tv_usec| libc::timeval { tv_sec, tv_usec };
            vec![
                api.set(fd, (socket, 9999), 1),
                api.set(fd, (tcp, 9999), 1),
                api.get(fd, (socket, 9999)),
                api.get(fd, (tcp, 9999)),
                api.setsockopt_raw(fd, (tcp, libc::TCP_NODELAY), pointer, 3),
                api.setsockopt_raw(fd, (tcp, libc::TCP_NODELAY), null(), 4),
                api.getsockopt_raw(fd, (tcp, libc::TCP_NODELAY), null_mut(), &raw mut len),
                api.getsockopt_raw(
                    fd,
                    (tcp, libc::TCP_NODELAY),
                    (&raw mut value).cast(),
                    null_mut(),
                ),
                api.getsockopt_raw(
                    fd,
                    (tcp, libc::TCP_NODELAY),
                    (&raw mut value).cast(),
                    &raw mut negative,
                ),
                api.set(fd, (tcp, libc::TCP_NODELAY), 1),
                api.get(fd, (tcp, libc::TCP_NODELAY)),
                api.setsockopt_raw(fd, (tcp, libc::TCP_CONGESTION), c"no such".as_ptr().cast(), 7),
                api.set(fd, (tcp, libc::TCP_KEEPIDLE), 0),
                api.set(fd, (tcp, libc::TCP_KEEPIDLE), 60),
                api.get(fd, (tcp, libc::TCP_KEEPIDLE)),
                api.get(fd, (tcp, libc::TCP_KEEPCNT)),
                api.get(fd, (tcp, libc::TCP_KEEPINTVL)),
                api.set(fd, (tcp, libc::TCP_KEEPCNT), 128),
                api.get(fd, (tcp, libc::TCP_SYNCNT)),
                api.set(fd, (tcp, libc::TCP_SYNCNT), 0),
                api.set(fd, (tcp, libc::TCP_SYNCNT), 128),
                api.set(fd, (tcp, libc::TCP_SYNCNT), 3),
                api.get(fd, (tcp, libc::TCP_SYNCNT)),
                api.set(fd, (socket, libc::SO_KEEPALIVE), 1),
                api.get(fd, (socket, libc::SO_KEEPALIVE)),
                api.set(fd, (socket, libc::SO_RCVTIMEO), time(1, 0)),
                api.set(fd, (socket, libc::SO_RCVTIMEO), time(0, 1_000_000)),
                api.set(fd, (socket, libc::SO_RCVTIMEO), 1),
            ]
        })
    }),
    ("a timeout", |api| {
        with_pair(api, |client, _server| {
            let time = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
            vec![
                api.set(client, (libc::SOL_SOCKET, libc::SO_RCVTIMEO), time),
                api.recv(client, &mut [0]),
            ]
        })
    }),
    ("names with too little room", |api| {
        with_pair(api, |client, _server| {
            let (mut address, mut room) = (loopback(0), 4);
            let mut negative = socklen_t::MAX;
            let to = (&raw mut address).cast();
            vec![
                api.getpeername_raw(client, to, &raw mut room),
                room.into(),
                api.getpeername_raw(client, to, null_mut()),
                api.getpeername_raw(client, null_mut(), &raw mut room),
                api.getsockname_raw(client, to, &raw mut negative),
            ]
        })
    }),
    // No other thread of this process opens a descriptor meanwhile.
    ("closed twice", |api| {
        let fd = api.fresh();
        vec![api.close(fd), api.close(fd)]
    }),
];

#[test]
fn errors_are_those_of_tcp() {
    let mut wrong = Vec::new();
    for (name, calls) in CASES {
        let (tcp, tou) = (calls(Api::Tcp), calls(Api::Tou));
        if tcp != tou {
            wrong.push(format!("{name}:\n  TCP {tcp:?}\n  ToU {tou:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn retries_of_data_are_an_option_of_tou() {
    let option = (SOL_TOU, TOU_RETRIES);
    let got = with_socket(Api::Tou, |fd| {
        let api = Api::Tou;
        vec![
            api.get(fd, option),
            api.set(fd, option, -1),
            api.set(fd, option, 256),
            api.set(fd, option, 0),
            api.get(fd, option),
        ]
    });
    let invalid = -i64::from(libc::EINVAL);
    // net.ipv4.tcp_retries2 of Linux.
    assert_eq!(got, [15, invalid, invalid, 0, 0]);
    let fixed = with_listener(Api::Tou, |fd| vec![Api::Tou.set(fd, option, 3)]);
    assert_eq!(fixed, [-i64::from(libc::EISCONN)]);
}

#[test]
fn marks_are_echoed_in_one_of_three_ways() {
    let option = (SOL_TOU, TOU_ECN_ECHO);
    let got = with_socket(Api::Tou, |fd| {
        let mut got = vec![Api::Tou.get(fd, option)];
        for echo in [1, 2, 3] {
            got.extend([Api::Tou.set(fd, option, echo), Api::Tou.get(fd, option)]);
        }
        got
    });
    assert_eq!(got, [0, 0, 1, 0, 2, -i64::from(libc::EINVAL), 2]);
}
