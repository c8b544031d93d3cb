// Echo over ToU, in C++, with select and run().
//
//   echo server PORT        prints its port and echoes what it receives, until its input ends
//   echo client HOST PORT   sends its input and prints the echo
//
// c++ echo.cpp -o echo $(pkg-config --cflags --libs tou)

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <unistd.h>

#include <tou.hpp>

namespace {

int checked(int result, const char *what) {
    if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return result;
}

struct sockaddr_in address_of(const char *host, const char *port) {
    struct sockaddr_in address = sockaddr_in();
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        throw std::runtime_error(std::string(host) + ": no IPv4 address");
    return address;
}

int listener_at(tou::ToU &tou, const char *port) {
    struct sockaddr_in address = address_of("0.0.0.0", port);
    socklen_t len = sizeof address;
    struct sockaddr *raw = reinterpret_cast<struct sockaddr *>(&address);
    int fd = checked(tou.touSocket(), "touSocket");
    checked(tou.touBind(fd, raw, len), "touBind");
    checked(tou.touListen(fd, 16), "touListen");
    checked(tou_getsockname(fd, raw, &len), "tou_getsockname");
    std::printf("port %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    return fd;
}

// Echoes once. False when the client is done.
bool echo(tou::ToU &tou, int fd) {
    std::vector<char> buffer(65536);
    ssize_t got = tou.touRecv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN;
    return got > 0 && tou.touSend(fd, buffer.data(), static_cast<std::size_t>(got)) == got;
}

void server(const char *port) {
    tou::ToU tou;
    int listener = listener_at(tou, port);
    std::set<int> clients;
    for (;;) {
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(STDIN_FILENO, &readable);
        FD_SET(listener, &readable);
        for (int fd : clients) FD_SET(fd, &readable);
        int last = std::max(listener, clients.empty() ? 0 : *clients.rbegin());
        checked(select(last + 1, &readable, nullptr, nullptr, nullptr), "select");
        tou.run();
        for (int fd : std::set<int>(clients)) {
            if (FD_ISSET(fd, &readable) && !echo(tou, fd)) {
                clients.erase(fd);
                tou.touClose(fd);
            }
        }
        if (FD_ISSET(listener, &readable)) clients.insert(checked(tou.touAccept(listener), "touAccept"));
        char buffer[256];
        if (FD_ISSET(STDIN_FILENO, &readable) && read(STDIN_FILENO, buffer, sizeof buffer) <= 0) return;
    }
}

void client(const char *host, const char *port) {
    struct sockaddr_in address = address_of(host, port);
    tou::Socket socket(checked(tou_socket(AF_INET, SOCK_STREAM, 0), "tou_socket"));
    int fd = socket.fd();
    checked(tou_connect(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof address), "tou_connect");
    // One thread per direction, on one descriptor.
    std::thread sender([fd] {
        std::vector<char> buffer(65536);
        std::size_t got;
        while ((got = std::fread(buffer.data(), 1, buffer.size(), stdin)) > 0)
            if (tou_send(fd, buffer.data(), got, 0) < 0) break;
        tou_shutdown(fd, SHUT_WR);
    });
    std::vector<char> buffer(65536);
    ssize_t got;
    while ((got = tou_recv(fd, buffer.data(), buffer.size(), 0)) > 0)
        std::fwrite(buffer.data(), 1, static_cast<std::size_t>(got), stdout);
    int error = errno;
    sender.join();
    errno = error;
    checked(static_cast<int>(got), "tou_recv");
}

} // namespace

int main(int argc, char **argv) try {
    if (argc == 3 && std::strcmp(argv[1], "server") == 0) {
        server(argv[2]);
    } else if (argc == 4 && std::strcmp(argv[1], "client") == 0) {
        client(argv[2], argv[3]);
    } else {
        std::fprintf(stderr, "usage: echo server PORT | echo client HOST PORT\n");
        return 2;
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
