// Wrappers of tou.h for C++11 and later, header only. Like tou.h, functions return -1 and set errno.
#ifndef TOU_HPP
#define TOU_HPP

#include <cstddef>
#include <mutex>
#include <set>

#include <tou.h>

namespace tou {

// Owns a descriptor and closes it at the end of its scope.
class Socket {
public:
    Socket() noexcept : fd_(-1) {}
    explicit Socket(int fd) noexcept : fd_(fd) {}
    Socket(Socket &&other) noexcept : fd_(other.release()) {}
    Socket(const Socket &) = delete;
    ~Socket() { reset(); }

    Socket &operator=(Socket &&other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    Socket &operator=(const Socket &) = delete;

    int fd() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

    // Gives up the descriptor without closing it.
    int release() noexcept {
        int fd = fd_;
        fd_ = -1;
        return fd;
    }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) tou_close(fd_);
        fd_ = fd;
    }

private:
    int fd_;
};

// Owns the sockets of a program, or of a part of it. The destructor closes the sockets that were
// opened or accepted through it and are still open. Threads may share it.
class ToU {
public:
    ToU() = default;
    ToU(const ToU &) = delete;
    ToU &operator=(const ToU &) = delete;
    ~ToU() {
        for (int fd : open_) tou_close(fd);
    }

    int touSocket(int domain = AF_INET, int type = SOCK_STREAM, int protocol = 0) {
        return keep(tou_socket(domain, type, protocol));
    }
    int touBind(int fd, const struct sockaddr *address, socklen_t len) {
        return tou_bind(fd, address, len);
    }
    int touListen(int fd, int backlog) { return tou_listen(fd, backlog); }
    int touAccept(int fd, struct sockaddr *address = nullptr, socklen_t *len = nullptr) {
        return keep(tou_accept(fd, address, len));
    }
    int touConnect(int fd, const struct sockaddr *address, socklen_t len) {
        return tou_connect(fd, address, len);
    }
    ssize_t touSend(int fd, const void *buffer, std::size_t len, int flags = 0) {
        return tou_send(fd, buffer, len, flags);
    }
    ssize_t touRecv(int fd, void *buffer, std::size_t len, int flags = 0) {
        return tou_recv(fd, buffer, len, flags);
    }
    int touSecure(int fd, const struct tou_security &security, char *peer = nullptr) {
        return tou_secure(fd, &security, peer);
    }
    int touSessionNode(const struct tou_session_options &options) {
        return keep(tou_session_node(&options));
    }
    int touSessionConnect(int node, const char *peer, int timeout_ms = -1) {
        return keep(tou_session_connect(node, peer, timeout_ms));
    }
    int touSessionAccept(int node, char *peer = nullptr) {
        return keep(tou_session_accept(node, peer));
    }
    int touShutdown(int fd, int how) { return tou_shutdown(fd, how); }
    int run() { return tou_run(); }
    int touClose(int fd) {
        // Under the lock: otherwise another thread could get the same number from touSocket before
        // it is erased here.
        std::lock_guard<std::mutex> guard(mutex_);
        open_.erase(fd);
        return tou_close(fd);
    }

private:
    int keep(int fd) {
        if (fd < 0) return fd;
        try {
            std::lock_guard<std::mutex> guard(mutex_);
            open_.insert(fd);
        } catch (...) {
            tou_close(fd);
            throw;
        }
        return fd;
    }

    std::mutex mutex_;
    std::set<int> open_;
};

} // namespace tou

#endif
