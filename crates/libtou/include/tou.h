/*
 * TCP over UDP with the calls of BSD sockets, prefixed by tou_. tou(3) and docs/guide/tou-c.md describe
 * the differences. Every call may be made from any thread.
 *
 * A call that fails returns -1 and sets errno to the value that a TCP socket would set. The comments
 * below name the most likely values; tou(3) lists all.
 */
#ifndef TOU_H
#define TOU_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOU_VERSION "0.3.0"

/* The level of ToU's own options. Options of SOL_SOCKET and IPPROTO_TCP have the system's names. */
#define SOL_TOU 0x746f
#define TOU_INFO 1     /* struct tou_info, similar to TCP_INFO; read only */
#define TOU_ECN 2      /* int: offer ECN (RFC 3168); a listener accepts offers without it */
#define TOU_ECN_ECHO 3 /* int: 0: echo CE until CWR; 1: echo each CE mark once, for New-ECN;
                        * 2: AccECN (RFC 9768) with peers that have it, else as 0 */
#define TOU_NONBLOCK 4 /* int: O_NONBLOCK of the descriptor, as with fcntl(2) */
#define TOU_QLOG 5     /* text: a folder in which each connection writes a file of qlog; empty: none.
                        * Set it before bind, connect and listen; write only */
#define TOU_RETRIES 6  /* int: how often a segment is sent again after timeouts before the connection
                        * fails, 0 to 255; TCP_SYNCNT is the same for connecting */

/* State and counters of a connection. Later versions may append fields. tou_getsockopt stores the
 * number of bytes that it filled in. */
struct tou_info {
    uint64_t state;    /* TCP_ESTABLISHED and so on, as in <netinet/tcp.h> */
    uint64_t mss;      /* payload bytes of a full segment */
    uint64_t cwnd;     /* congestion window in bytes */
    uint64_t ssthresh; /* slow start threshold in bytes; UINT64_MAX before the first reduction */
    uint64_t rtt_ns;   /* smoothed round-trip time; 0 before the first sample */
    uint64_t rto_ns;   /* retransmission timeout, including back-off */
    uint64_t in_flight;      /* bytes sent and not yet acknowledged */
    uint64_t bytes_acked;    /* bytes sent that the peer has acknowledged */
    uint64_t bytes_received; /* bytes received in order */
    uint64_t ecn;            /* 1: both ends use ECN */
    uint64_t sack;           /* 1: both ends use SACK */
    uint64_t data_segments_sent; /* including retransmissions */
    uint64_t retransmitted_segments;
    uint64_t acks_sent; /* segments without data */
    uint64_t segments_received;
    uint64_t timeouts;            /* retransmission timeouts */
    uint64_t fast_retransmits;    /* losses found before a timeout */
    uint64_t tail_probes;         /* RFC 8985, section 7 */
    uint64_t ce_received;         /* packets that the network marked CE */
    uint64_t ece_received;        /* ACKs that echoed a mark */
    uint64_t ecn_cuts;            /* window reductions because of ECN */
    uint64_t duplicates_received; /* segments without new data */
};

/* Makes a socket. domain: AF_INET or AF_INET6; type: SOCK_STREAM, optionally with SOCK_NONBLOCK;
 * protocol: 0. The descriptor works with select, poll, epoll and fcntl. Read, write and close it only
 * with tou_ calls. Errors: EAFNOSUPPORT, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EMFILE; EOPNOTSUPP in a
 * child of fork(2). */
int tou_socket(int domain, int type, int protocol);

/* Binds a UDP port; port 0 lets the system choose. Errors: EADDRINUSE, EADDRNOTAVAIL, EACCES; EINVAL
 * if the socket is bound already. */
int tou_bind(int fd, const struct sockaddr *address, socklen_t len);

/* Starts to accept connections. backlog limits the half-open connections, and the complete ones that
 * wait for tou_accept. Errors: EADDRINUSE; EINVAL if the socket is connected. */
int tou_listen(int fd, int backlog);

/* Waits for a connection and returns its descriptor. address and len may be NULL. Errors: EAGAIN if it
 * may not wait or SO_RCVTIMEO is over, EINVAL if the socket does not listen, EMFILE. */
int tou_accept(int fd, struct sockaddr *address, socklen_t *len);

/* Connects to a peer. Errors: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EISCONN;
 * EINPROGRESS if it may not wait (poll for POLLOUT, then read SO_ERROR), EALREADY while that goes on. */
int tou_connect(int fd, const struct sockaddr *address, socklen_t len);

/* Sends bytes. A blocking socket sends all, unless SO_SNDTIMEO is over. flags: MSG_DONTWAIT,
 * MSG_NOSIGNAL (no call ever raises SIGPIPE). Returns the number of bytes accepted. Errors: EAGAIN,
 * EPIPE, ECONNRESET, ETIMEDOUT, ENOTCONN. */
ssize_t tou_send(int fd, const void *buffer, size_t len, int flags);

/* Receives bytes. flags: as tou_send, and MSG_WAITALL. Returns the number of bytes, 0 at the end of
 * the stream. Errors: EAGAIN, ECONNRESET, ETIMEDOUT, ENOTCONN. */
ssize_t tou_recv(int fd, void *buffer, size_t len, int flags);

/* Closes one direction or both. how: SHUT_RD, SHUT_WR, SHUT_RDWR. SHUT_RD on a listener ends
 * listening. Errors: ENOTCONN, EINVAL. */
int tou_shutdown(int fd, int how);

/* Closes the socket and its descriptor. Written data is still delivered in the background. Other
 * threads that wait in a call with this descriptor get EBADF. Errors: EBADF, ENOTSOCK. */
int tou_close(int fd);

/* Reads or sets an option; tou(3) lists them. Errors: ENOPROTOOPT; EINVAL for a wrong size or value;
 * EISCONN for an option that is fixed since the socket connected or listens; ENOENT for an unknown
 * congestion controller. */
int tou_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int tou_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

/* Stores the local or the peer's address. Errors: EFAULT, EINVAL; tou_getpeername: ENOTCONN. */
int tou_getsockname(int fd, struct sockaddr *address, socklen_t *len);
int tou_getpeername(int fd, struct sockaddr *address, socklen_t *len);

/* Updates the readiness of all descriptors. The library's own thread does this too, so programs need
 * not call it. It exists for programs that were written for an implementation without a thread, which
 * call it after select. Returns 0. */
int tou_run(void);

/* Sets the callback for STUN messages (RFC 8489) that arrive at the port of fd. The callback runs in
 * the library's thread. It may use any tou_ call, and must not throw. NULL removes it. After the
 * removal or tou_close has returned, the callback does not run any more, unless the callback itself
 * made that call. tou_send_stun sends a STUN message from the port of fd. Errors: EOPNOTSUPP for an
 * accepted socket, which has no port of its own; EINVAL if message is not STUN; EMSGSIZE. */
typedef void (*tou_stun_callback)(int fd, const void *message, size_t len, const struct sockaddr *from,
                                  socklen_t from_len, void *context);
int tou_set_stun_callback(int fd, tou_stun_callback callback, void *context);
ssize_t tou_send_stun(int fd, const void *message, size_t len, const struct sockaddr *to,
                      socklen_t to_len);

/* A host is known by its key, a text of 52 characters. Writes the key of this host, whose secret is in
 * key_file: a file of mode 0600, made on first use. No other call makes it. Errors: EACCES if the file
 * belongs to another user, can be read by others, or is not a key; those of open(2). */
#define TOU_KEY_SIZE 53 /* with the final zero */
int tou_key(const char *key_file, char key[TOU_KEY_SIZE]);

/* How a socket is secured. */
struct tou_security {
    size_t size;              /* sizeof(struct tou_security) */
    const char *key_file;     /* this host's secret key: a file that tou_key has made */
    const char *const *peers; /* the keys that the peer may have; of a client exactly one */
    size_t peer_count;
    int server;               /* 1 at the end that accepted, 0 at the one that connected */
};

/* Secures a connected socket: TLS 1.3, both ends authenticated by key. From then on its bytes travel
 * encrypted; all other calls stay the same. Writes the peer's key, unless peer is NULL. Waits for at
 * most 30 seconds. With O_NONBLOCK it fails with EINPROGRESS; the descriptor is writable when the
 * outcome is known, which the same call returns then (EALREADY before). Close the socket after any
 * other error. Errors: EACCES if either end does not allow the other's key (a client may get it with
 * its first tou_recv); EPROTO if the peer does not speak TLS; ETIMEDOUT; ENOTCONN; EINVAL; ENOENT
 * without the key file. */
int tou_secure(int fd, const struct tou_security *security, char peer[TOU_KEY_SIZE]);

/* A node: a UDP port over which this host has sessions with hosts behind NATs. */
struct tou_session_options {
    size_t size;              /* sizeof(struct tou_session_options) */
    const char *key_file;     /* this host's secret key: a file that tou_key has made */
    const char *const *via;   /* rendezvous servers: HOST, HOST:PORT, HOST#KEY */
    size_t via_count;
    const char *const *peers; /* the keys of the hosts that may connect; none by default */
    size_t peer_count;
    int flags;                /* TOU_SESSION_*, added */
};
#define TOU_SESSION_RELAY_ONLY 1 /* use relays only, and do not tell peers this host's addresses */
#define TOU_SESSION_ANYONE 2     /* any host may connect that knows this host's key */

/* Makes a node and returns its descriptor, which is readable when a connection waits to be accepted.
 * tou_close ends the node, its sessions and their connections. Errors: ENOENT without the key file. */
int tou_session_node(const struct tou_session_options *options);

/* Opens a connection with the host that has the key peer, and returns its descriptor: a socket as of
 * tou_connect, not yet encrypted. The first connection finds a path, which takes some round trips.
 * Waits for at most timeout_ms, without a limit if it is negative. With 0 the descriptor is returned at
 * once: poll for POLLOUT, then read SO_ERROR. Errors: ETIMEDOUT; EHOSTUNREACH without a path; ENOENT if
 * the peer is not registered; EACCES if it does not allow this host. */
int tou_session_connect(int node, const char *peer, int timeout_ms);

/* Accepts the next connection of any session. Writes the key of the host that opened it, unless peer is
 * NULL. Its bytes are neither encrypted nor authenticated before tou_secure. Errors: EAGAIN with
 * O_NONBLOCK. */
int tou_session_accept(int node, char peer[TOU_KEY_SIZE]);

/* A session of a node. */
struct tou_session_info {
    char peer[56];    /* the other host's key */
    uint64_t state;   /* TOU_SESSION_INTRODUCING and so on */
    uint64_t relayed; /* 1: datagrams pass a relay */
    uint64_t rtt_ns;  /* round trip of the path; 0 if unknown */
    struct sockaddr_storage local;  /* this end of the path; family 0 without a path */
    struct sockaddr_storage remote;
};
#define TOU_SESSION_INTRODUCING 1
#define TOU_SESSION_SEARCHING 2
#define TOU_SESSION_CONNECTED 3
#define TOU_SESSION_LOST 4

/* Writes up to count sessions of size bytes each, which is sizeof(struct tou_session_info), and returns
 * the number of all sessions. */
ssize_t tou_session_list(int node, struct tou_session_info *sessions, size_t count, size_t size);

/* A candidate: an address at which one end of a session may be reached (RFC 8445). */
struct tou_session_candidate {
    uint64_t type;   /* TOU_CANDIDATE_HOST and so on */
    uint64_t remote; /* 1: the peer's; 0: this host's */
    struct sockaddr_storage address;
};
#define TOU_CANDIDATE_HOST 1
#define TOU_CANDIDATE_SERVER_REFLEXIVE 2
#define TOU_CANDIDATE_PEER_REFLEXIVE 3
#define TOU_CANDIDATE_RELAYED 4

/* Writes up to count candidates of the session with the host that has the key peer, this host's first,
 * of size bytes each, which is sizeof(struct tou_session_candidate), and returns the number of all.
 * Errors: ENOENT if there is no session with it; EINVAL if peer is not a key. */
ssize_t tou_session_candidates(int node, const char *peer, struct tou_session_candidate *candidates,
                               size_t count, size_t size);

/* Closes all sockets, waits until written data is delivered, and ends the library's thread. A negative
 * timeout_ms means no limit. Returns 0. Error: ETIMEDOUT if data was not delivered in time. exit(3)
 * does the same with a limit of 5 seconds. */
int tou_cleanup(int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
