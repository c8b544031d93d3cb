// A file over ToU, in C++.
//
//   file_transfer receive PORT FILE    prints its port and receives one file
//   file_transfer send HOST PORT FILE
//
// c++ file_transfer.cpp -o file_transfer $(pkg-config --cflags --libs tou)

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <tou.hpp>

namespace {

template <typename Number> Number checked(Number result, const char *what) {
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

void receive_file(const char *port, const char *name) {
    struct sockaddr_in address = address_of("0.0.0.0", port);
    struct sockaddr *raw = reinterpret_cast<struct sockaddr *>(&address);
    socklen_t len = sizeof address;
    tou::ToU tou;
    int listener = checked(tou.touSocket(), "touSocket");
    checked(tou.touBind(listener, raw, len), "touBind");
    checked(tou.touListen(listener, 1), "touListen");
    checked(tou_getsockname(listener, raw, &len), "tou_getsockname");
    std::printf("port %d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    int fd = checked(tou.touAccept(listener), "touAccept");
    std::ofstream file(name, std::ios::binary);
    std::vector<char> buffer(1 << 18);
    while (ssize_t got = checked(tou.touRecv(fd, buffer.data(), buffer.size()), "touRecv"))
        file.write(buffer.data(), got);
    if (!file.flush()) throw std::runtime_error(std::string(name) + ": not written");
}

void send_file(const char *host, const char *port, const char *name) {
    struct sockaddr_in address = address_of(host, port);
    std::ifstream file(name, std::ios::binary);
    if (!file) throw std::runtime_error(std::string(name) + ": not readable");
    tou::ToU tou;
    int fd = checked(tou.touSocket(), "touSocket");
    checked(tou.touConnect(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof address), "touConnect");
    std::vector<char> buffer(1 << 18);
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
        checked(tou.touSend(fd, buffer.data(), static_cast<std::size_t>(file.gcount())), "touSend");
    // No need to wait: the library delivers pending data when the program ends.
    checked(tou.touClose(fd), "touClose");
}

} // namespace

int main(int argc, char **argv) try {
    if (argc == 4 && std::strcmp(argv[1], "receive") == 0) {
        receive_file(argv[2], argv[3]);
    } else if (argc == 5 && std::strcmp(argv[1], "send") == 0) {
        send_file(argv[2], argv[3], argv[4]);
    } else {
        std::fprintf(stderr, "usage: file_transfer receive PORT FILE | file_transfer send HOST PORT FILE\n");
        return 2;
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
