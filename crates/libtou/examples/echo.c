/*
 * Echo over ToU, in C.
 *
 *   echo server PORT        prints its port and echoes what it receives, until its input ends
 *   echo client HOST PORT   sends its input and prints the echo
 *
 * cc echo.c -o echo $(pkg-config --cflags --libs tou)
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tou.h>

#define CLIENTS_MAX 64

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

static int listener_at(const char *port) {
    struct sockaddr_in address = address_of("0.0.0.0", port);
    socklen_t len = sizeof address;
    int fd = tou_socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) die("tou_socket");
    if (tou_bind(fd, (struct sockaddr *)&address, len) < 0) die("tou_bind");
    if (tou_listen(fd, 16) < 0) die("tou_listen");
    if (tou_getsockname(fd, (struct sockaddr *)&address, &len) < 0) die("tou_getsockname");
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

/* Echoes once. False when the client is done. Waits for a client that does not read. */
static int echo(int fd) {
    char buffer[65536];
    ssize_t got = tou_recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN;
    return got > 0 && tou_send(fd, buffer, (size_t)got, 0) == got;
}

static void server(const char *port) {
    struct pollfd fds[2 + CLIENTS_MAX];
    nfds_t count = 2, i;
    fds[0].fd = STDIN_FILENO;
    fds[1].fd = listener_at(port);
    fds[0].events = fds[1].events = POLLIN;
    for (;;) {
        if (poll(fds, count, -1) < 0) die("poll");
        for (i = count; i-- > 2;) {
            if (fds[i].revents != 0 && !echo(fds[i].fd)) {
                tou_close(fds[i].fd);
                fds[i] = fds[--count];
            }
        }
        if ((fds[1].revents & POLLIN) != 0 && count < 2 + CLIENTS_MAX) {
            fds[count].fd = tou_accept(fds[1].fd, NULL, NULL);
            fds[count].events = POLLIN;
            fds[count].revents = 0;
            if (fds[count].fd >= 0) count++;
        }
        if (fds[0].revents != 0) {
            char buffer[256];
            if (read(STDIN_FILENO, buffer, sizeof buffer) <= 0) break;
        }
    }
    for (i = 1; i < count; i++) tou_close(fds[i].fd);
}

/* Input that was read and not yet sent. */
struct input {
    char buffer[65536];
    size_t start, end;
    int over;
};

static void send_some(int fd, struct input *input) {
    if (input->start == input->end) {
        ssize_t got = read(STDIN_FILENO, input->buffer, sizeof input->buffer);
        input->start = 0;
        input->end = got > 0 ? (size_t)got : 0;
        if (got <= 0) {
            input->over = 1;
            if (tou_shutdown(fd, SHUT_WR) < 0) die("tou_shutdown");
        }
    } else {
        ssize_t sent = tou_send(fd, input->buffer + input->start, input->end - input->start, 0);
        if (sent > 0) input->start += (size_t)sent;
        if (sent < 0 && errno != EAGAIN) die("tou_send");
    }
}

/* Sends and receives at the same time, so that no buffer on the path fills up. */
static void client(const char *host, const char *port) {
    static struct input input;
    struct sockaddr_in address = address_of(host, port);
    struct pollfd fds[2];
    int fd = tou_socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) die("tou_socket");
    if (tou_connect(fd, (struct sockaddr *)&address, sizeof address) < 0) die("tou_connect");
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) die("fcntl");
    for (;;) {
        int reads = !input.over && input.start == input.end;
        fds[0].fd = reads ? STDIN_FILENO : -1;
        fds[0].events = POLLIN;
        fds[1].fd = fd;
        fds[1].events = (short)(POLLIN | (reads || input.over ? 0 : POLLOUT));
        if (poll(fds, 2, -1) < 0) die("poll");
        if (fds[1].revents & (POLLIN | POLLERR | POLLHUP)) {
            char buffer[65536];
            ssize_t got = tou_recv(fd, buffer, sizeof buffer, 0);
            if (got == 0) break;
            if (got < 0 && errno != EAGAIN) die("tou_recv");
            if (got > 0 && fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got) die("stdout");
        }
        if ((reads && fds[0].revents != 0) || (fds[1].revents & POLLOUT)) send_some(fd, &input);
    }
    tou_close(fd);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "server") == 0) {
        server(argv[2]);
    } else if (argc == 4 && strcmp(argv[1], "client") == 0) {
        client(argv[2], argv[3]);
    } else {
        fprintf(stderr, "usage: echo server PORT | echo client HOST PORT\n");
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
