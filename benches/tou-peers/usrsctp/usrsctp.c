/* One bulk stream by usrsctp over UDP: `usrsctp receive ADDRESS PORT` and
 * `usrsctp send ADDRESS PORT SECONDS`. Prints what tou-peers prints (../src/main.rs). */

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <usrsctp.h>

/* The library's UDP socket has the system's default buffer, mostly 208 KiB of the kernel's memory.
 * Data in flight must find room there: larger buffers lose datagrams and are slower. */
enum { BUFFER = 128 << 10, MESSAGE = 32 << 10, BLOCK = 256 << 10, SCTP_PORT = 7000 };

static char block[BLOCK];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* A socket whose datagrams go to and come from this UDP port at both ends. */
static struct socket *prepared(uint16_t port)
{
    usrsctp_init(port, NULL, NULL);
    usrsctp_sysctl_set_sctp_sendspace(BUFFER);
    usrsctp_sysctl_set_sctp_recvspace(BUFFER);
    usrsctp_sysctl_set_sctp_blackhole(2);
    struct socket *sock = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
    if (!sock)
        die("usrsctp_socket");
    struct sctp_udpencaps encaps;
    memset(&encaps, 0, sizeof encaps);
    encaps.sue_address.ss_family = AF_INET;
    encaps.sue_port = htons(port);
    if (usrsctp_setsockopt(sock, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps))
        die("SCTP_REMOTE_UDP_ENCAPS_PORT");
    return sock;
}

static void receive(struct socket *sock, struct sockaddr *address, socklen_t len)
{
    if (usrsctp_bind(sock, address, len) || usrsctp_listen(sock, 1))
        die("usrsctp_listen");
    puts("ready");
    fflush(stdout);
    struct socket *stream = usrsctp_accept(sock, NULL, NULL);
    if (!stream)
        die("usrsctp_accept");
    uint64_t bytes = 0;
    double first = now(), last = first;
    for (;;) {
        struct sctp_rcvinfo info;
        socklen_t info_len = sizeof info;
        unsigned type = 0;
        int flags = 0;
        ssize_t taken =
            usrsctp_recvv(stream, block, BLOCK, NULL, NULL, &info, &info_len, &type, &flags);
        if (taken <= 0)
            break;
        last = now();
        if (!bytes)
            first = last;
        bytes += taken;
    }
    printf("{\"bytes\": %" PRIu64 ", \"seconds\": %f}\n", bytes, last - first);
    usrsctp_close(stream);
}

static void send_for(struct socket *sock, struct sockaddr *address, socklen_t len, double seconds)
{
    if (usrsctp_connect(sock, address, len))
        die("usrsctp_connect");
    double start = now();
    while (now() - start < seconds)
        if (usrsctp_sendv(sock, block, MESSAGE, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0) < 0)
            die("usrsctp_sendv");
    usrsctp_shutdown(sock, SHUT_WR);
    /* The peer closes when it has had all. */
    struct sctp_rcvinfo info;
    socklen_t info_len = sizeof info;
    unsigned type = 0;
    int flags = 0;
    usrsctp_recvv(sock, block, BLOCK, NULL, NULL, &info, &info_len, &type, &flags);
    struct sctpstat stat;
    usrsctp_get_stat(&stat);
    printf("{\"retransmitted\": %" PRIu32 "}\n", stat.sctps_sendretransdata);
}

int main(int count, char **words)
{
    int receives = count == 4 && !strcmp(words[1], "receive");
    if (!receives && (count != 5 || strcmp(words[1], "send"))) {
        fputs("expected receive ADDRESS PORT, or send ADDRESS PORT SECONDS\n", stderr);
        return 1;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(SCTP_PORT)};
    if (inet_pton(AF_INET, words[2], &address.sin_addr) != 1)
        die("address");
    struct socket *sock = prepared((uint16_t)atoi(words[3]));
    if (receives)
        receive(sock, (struct sockaddr *)&address, sizeof address);
    else
        send_for(sock, (struct sockaddr *)&address, sizeof address, atof(words[4]));
    fflush(stdout);
    usrsctp_close(sock);
    /* It goes when its last timers have. The process has nothing left to do for them. */
    return 0;
}
