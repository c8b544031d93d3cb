/*
 * TCP over UDP with the calls of BSD sockets: put tou_ before them. docs/guide/tou-c.md and tou(3) describe
 * what is different. Every call may be made from any thread; what fails gives -1 and errno.
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

#define TOU_VERSION "0.1.0"

/* The level of ToU's own options. Those of SOL_SOCKET and IPPROTO_TCP have the system's names. */
#define SOL_TOU 0x746f
#define TOU_INFO 1     /* struct tou_info, in the manner of TCP_INFO */
#define TOU_ECN 2      /* int: offer ECN, and take the offer of others (RFC 3168) */
#define TOU_ECN_ECHO 3 /* int: 0: echo marks until CWR; 1: once for each, as New-ECN wants it */
#define TOU_NONBLOCK 4 /* int: O_NONBLOCK of the descriptor; fcntl(2) does the same */

/* Where a connection stands. More fields may follow; tou_getsockopt tells how many bytes it filled. */
struct tou_info {
    uint64_t state;    /* TCP_ESTABLISHED and so on, as in <netinet/tcp.h> */
    uint64_t mss;      /* payload bytes of a full segment */
    uint64_t cwnd;     /* congestion window in bytes */
    uint64_t ssthresh; /* slow start threshold in bytes; UINT64_MAX before the first cut */
    uint64_t rtt_ns;   /* smoothed round-trip time; 0 before the first sample */
    uint64_t rto_ns;   /* retransmission timeout, back-off included */
    uint64_t in_flight;      /* bytes sent and not acknowledged */
    uint64_t bytes_acked;    /* bytes of this end that the peer has acknowledged */
    uint64_t bytes_received; /* bytes of the peer that arrived in order */
    uint64_t ecn;            /* 1: ECN was agreed on */
    uint64_t sack;           /* 1: SACK was agreed on */
    uint64_t data_segments_sent; /* retransmissions included */
    uint64_t retransmitted_segments;
    uint64_t acks_sent; /* without data */
    uint64_t segments_received;
    uint64_t timeouts;
    uint64_t fast_retransmits;
    uint64_t tail_probes;         /* RFC 8985, section 7 */
    uint64_t ce_received;         /* packets marked by the network */
    uint64_t ece_received;        /* ACKs that echoed a mark */
    uint64_t ecn_cuts;            /* cuts of the window by ECN */
    uint64_t duplicates_received; /* segments with nothing new in them */
};

/* domain: AF_INET or AF_INET6; type: SOCK_STREAM, with SOCK_NONBLOCK or not; protocol: 0.
 * The descriptor is for select, poll, epoll and fcntl; read, write and close it with tou_ calls. */
int tou_socket(int domain, int type, int protocol);
int tou_bind(int fd, const struct sockaddr *address, socklen_t len);
int tou_listen(int fd, int backlog);
int tou_accept(int fd, struct sockaddr *address, socklen_t *len);
int tou_connect(int fd, const struct sockaddr *address, socklen_t len);
/* flags: MSG_DONTWAIT, MSG_NOSIGNAL (there is never a SIGPIPE); to receive also MSG_WAITALL. */
ssize_t tou_send(int fd, const void *buffer, size_t len, int flags);
ssize_t tou_recv(int fd, void *buffer, size_t len, int flags);
int tou_shutdown(int fd, int how);
int tou_close(int fd);
int tou_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int tou_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int tou_getsockname(int fd, struct sockaddr *address, socklen_t *len);
int tou_getpeername(int fd, struct sockaddr *address, socklen_t *len);

/* Brings all descriptors in step with their sockets. A thread of the library does so anyway: programs
 * written for a library without one may call it after select, others need not. Returns 0. */
int tou_run(void);

/* STUN messages (RFC 8489) that come to the port of fd. The callback runs in a thread of the library
 * and may use any tou_ call; it must not throw. NULL takes it away: when that, or tou_close, returns,
 * it does not run any more, unless it was called from the callback itself. */
typedef void (*tou_stun_callback)(int fd, const void *message, size_t len, const struct sockaddr *from,
                                  socklen_t from_len, void *context);
int tou_set_stun_callback(int fd, tou_stun_callback callback, void *context);
ssize_t tou_send_stun(int fd, const void *message, size_t len, const struct sockaddr *to,
                      socklen_t to_len);

/* Closes all sockets, waits until what was written has arrived, and ends the library's thread.
 * -1 and ETIMEDOUT after timeout_ms (below 0: no limit). exit(3) does it, with 5 seconds. */
int tou_cleanup(int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
