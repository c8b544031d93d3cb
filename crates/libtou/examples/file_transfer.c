/*
 * A file over ToU, in C.
 *
 *   file_transfer receive PORT FILE    prints its port and receives one file
 *   file_transfer send HOST PORT FILE
 *
 * cc file_transfer.c -o file_transfer $(pkg-config --cflags --libs tou)
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tou.h>

static char buffer[1 << 18];

static void die(const char *what) {
    perror(what);
    exit(1);
}

static struct sockaddr_in address_of(const char *host, const char *port) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(port));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fprintf(stderr, "%s: no IPv4 address\n", host);
        exit(2);
    }
    return address;
}

static void receive_file(const char *port, const char *name) {
    struct sockaddr_in address = address_of("0.0.0.0", port);
    socklen_t len = sizeof address;
    ssize_t got;
    FILE *file = fopen(name, "wb");
    int connection, listener = tou_socket(AF_INET, SOCK_STREAM, 0);
    if (file == NULL) die(name);
    if (listener < 0) die("tou_socket");
    if (tou_bind(listener, (struct sockaddr *)&address, len) < 0) die("tou_bind");
    if (tou_listen(listener, 1) < 0) die("tou_listen");
    if (tou_getsockname(listener, (struct sockaddr *)&address, &len) < 0) die("tou_getsockname");
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    connection = tou_accept(listener, NULL, NULL);
    if (connection < 0) die("tou_accept");
    while ((got = tou_recv(connection, buffer, sizeof buffer, 0)) > 0)
        if (fwrite(buffer, 1, (size_t)got, file) != (size_t)got) die(name);
    /* 0 is an orderly end. -1 means that the connection failed and the file is incomplete. */
    if (got < 0) die("tou_recv");
    if (fclose(file) != 0) die(name);
    tou_close(connection);
    tou_close(listener);
}

static void send_file(const char *host, const char *port, const char *name) {
    struct sockaddr_in address = address_of(host, port);
    struct tou_info info;
    socklen_t len = sizeof info;
    size_t got;
    FILE *file = fopen(name, "rb");
    int fd = tou_socket(AF_INET, SOCK_STREAM, 0);
    if (file == NULL) die(name);
    if (fd < 0) die("tou_socket");
    if (tou_connect(fd, (struct sockaddr *)&address, sizeof address) < 0) die("tou_connect");
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        if (tou_send(fd, buffer, got, 0) < 0) die("tou_send");
    if (ferror(file)) die(name);
    fclose(file);
    /* Waits until the receiver closes, which it does when it has the whole file. */
    if (tou_shutdown(fd, SHUT_WR) < 0) die("tou_shutdown");
    if (tou_recv(fd, buffer, 1, 0) != 0) die("tou_recv");
    if (tou_getsockopt(fd, SOL_TOU, TOU_INFO, &info, &len) < 0) die("tou_getsockopt");
    fprintf(stderr, "%" PRIu64 " bytes, RTT %" PRIu64 " us, %" PRIu64 " segments retransmitted\n",
            info.bytes_acked, info.rtt_ns / 1000, info.retransmitted_segments);
    tou_close(fd);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "receive") == 0) {
        receive_file(argv[2], argv[3]);
    } else if (argc == 5 && strcmp(argv[1], "send") == 0) {
        send_file(argv[2], argv[3], argv[4]);
    } else {
        fprintf(stderr, "usage: file_transfer receive PORT FILE | file_transfer send HOST PORT FILE\n");
        return 2;
    }
    return 0;
}
