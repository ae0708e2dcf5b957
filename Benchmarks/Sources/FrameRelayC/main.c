// The upper limit for gateways: an epoll process in C that relays bytes, with one backend connection per client.
// usage: FrameRelayC PORT; prints its port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 1024 };

static void add(int poll, int fd) {
  int one = 1;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv) {
  static char buffer[1 << 18];
  static int other[FDS_MAX];
  if (argc != 2) return 64;
  int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
  struct sockaddr_in address = {.sin_family = AF_INET}, backend = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = backend.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  backend.sin_port = htons((unsigned short)atoi(argv[1]));
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[64];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int n = epoll_wait(poll, events, 64, -1);
    for (int i = 0; i < n; i++) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        int near = accept4(listener, NULL, NULL, 0), far = socket(AF_INET, SOCK_STREAM, 0);
        if (near < 0 || far < 0 || near >= FDS_MAX || far >= FDS_MAX) return 1;
        if (connect(far, (struct sockaddr *)&backend, sizeof backend)) return 1;
        other[near] = far;
        other[far] = near;
        add(poll, near);
        add(poll, far);
        continue;
      }
      if (other[fd] == 0) continue;
      ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count <= 0) {
        int peer = other[fd];
        other[fd] = other[peer] = 0;
        close(fd);
        close(peer);
        continue;
      }
      for (ssize_t sent = 0; sent < count;) {
        ssize_t m = send(other[fd], buffer + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (m <= 0) break;
        sent += m;
      }
    }
  }
}
