//! Web servers made of smoltcp (<https://github.com/smoltcp-rs/smoltcp>), an independent TCP, in
//! virtual time, in two versions that react differently.

use std::collections::VecDeque;
use windlass_base::Time;
use windlass_probe_serve::Server;

/// Its send and its receive buffer, in bytes.
const BUFFER: usize = 1 << 20;
const PORT: u16 = 80;
const MTU: usize = 1500;

macro_rules! server_of {
    ($module:ident, $smoltcp:ident) => {
        pub(crate) mod $module {
            use super::*;
            use $smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
            use $smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
            pub(crate) use $smoltcp::socket::tcp::CongestionControl;
            use $smoltcp::socket::tcp::{Socket, SocketBuffer};
            use $smoltcp::time::Instant;
            use $smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpListenEndpoint};

            /// Packets on their way in and out.
            #[derive(Default)]
            struct Wire {
                coming: VecDeque<Vec<u8>>,
                leaving: VecDeque<Vec<u8>>,
            }

            pub(crate) struct Packet(Vec<u8>);
            pub(crate) struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

            impl phy::RxToken for Packet {
                fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
                    take(&self.0)
                }
            }

            impl phy::TxToken for Room<'_> {
                fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
                    let mut packet = vec![0; len];
                    let result = fill(&mut packet);
                    self.0.push_back(packet);
                    result
                }
            }

            impl Device for Wire {
                type RxToken<'a> = Packet;
                type TxToken<'a> = Room<'a>;

                fn receive(&mut self, _: Instant) -> Option<(Packet, Room<'_>)> {
                    let packet = self.coming.pop_front()?;
                    Some((Packet(packet), Room(&mut self.leaving)))
                }

                fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
                    Some(Room(&mut self.leaving))
                }

                fn capabilities(&self) -> DeviceCapabilities {
                    let mut capabilities = DeviceCapabilities::default();
                    capabilities.medium = Medium::Ip;
                    capabilities.max_transmission_unit = MTU;
                    capabilities
                }
            }

            /// Serves one client after another.
            pub(crate) struct WebServer {
                wire: Wire,
                interface: Interface,
                sockets: SocketSet<'static>,
                handle: SocketHandle,
                control: CongestionControl,
                nagle: bool,
                answer: Vec<u8>,
                heard: Vec<u8>,
                written: usize,
                next: Option<Time>,
            }

            fn instant(now: Time) -> Instant {
                Instant::from_micros((now.as_nanos() / 1000) as i64)
            }

            impl WebServer {
                pub(crate) fn new(
                    address: std::net::IpAddr,
                    control: CongestionControl,
                    nagle: bool,
                    answer: Vec<u8>,
                ) -> WebServer {
                    let mut wire = Wire::default();
                    let config = Config::new(HardwareAddress::Ip);
                    let mut interface = Interface::new(config, &mut wire, instant(Time::ZERO));
                    interface.set_any_ip(true);
                    interface.update_ip_addrs(|own| {
                        own.push(IpCidr::new(IpAddress::from(address), 0)).expect("room");
                    });
                    let buffer = || SocketBuffer::new(vec![0; BUFFER]);
                    let mut sockets = SocketSet::new(vec![]);
                    let handle = sockets.add(Socket::new(buffer(), buffer()));
                    let mut server = WebServer {
                        wire,
                        interface,
                        sockets,
                        handle,
                        control,
                        nagle,
                        answer,
                        heard: Vec::new(),
                        written: 0,
                        next: None,
                    };
                    server.listen();
                    server
                }

                fn listen(&mut self) {
                    let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
                    socket.abort();
                    socket.set_congestion_control(self.control);
                    socket.set_nagle_enabled(self.nagle);
                    let anywhere = IpListenEndpoint { addr: None, port: PORT };
                    socket.listen(anywhere).expect("closed before");
                    self.heard.clear();
                    self.written = 0;
                }

                /// A request that is complete is answered.
                fn speak(&mut self) {
                    let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
                    if !socket.is_open() {
                        return self.listen();
                    }
                    while let Ok(1..) = socket.recv(|bytes| {
                        self.heard.extend_from_slice(bytes);
                        (bytes.len(), bytes.len())
                    }) {}
                    if self.heard.ends_with(b"\r\n\r\n") && socket.can_send() {
                        self.written +=
                            socket.send_slice(&self.answer[self.written..]).unwrap_or(0);
                    }
                }

                fn poll(&mut self, now: Time) {
                    self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
                    self.speak();
                    self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
                    let next = self.interface.poll_at(instant(now), &self.sockets);
                    self.next = next.map(|at| Time::from_nanos(at.total_micros() as u64 * 1000));
                }
            }

            impl Server for WebServer {
                fn handle_packet(&mut self, now: Time, packet: &[u8]) {
                    self.wire.coming.push_back(packet.to_vec());
                    self.poll(now);
                }

                fn poll_packet(&mut self, _: Time) -> Option<Vec<u8>> {
                    self.wire.leaving.pop_front()
                }

                fn poll_timeout(&self) -> Option<Time> {
                    self.next
                }

                fn handle_timeout(&mut self, now: Time) {
                    self.poll(now);
                }
            }
        }
    };
}

server_of!(v0_12, smoltcp_0_12);
server_of!(v0_14, smoltcp);
