// The upper limit for servers: an epoll server in C that echoes every frame unchanged. usage: FrameEchoC; prints its
// port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  static char buffer[1 << 18];
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) return 1;
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
        int peer = accept4(listener, NULL, NULL, 0), one = 1;
        if (peer < 0) continue;
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        event.data.fd = peer;
        epoll_ctl(poll, EPOLL_CTL_ADD, peer, &event);
        continue;
      }
      ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count <= 0) {
        if (count < 0 && errno == EAGAIN) continue;
        close(fd);
        continue;
      }
      for (ssize_t sent = 0; sent < count;) {
        ssize_t m = send(fd, buffer + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (m <= 0) break;
        sent += m;
      }
    }
  }
}
