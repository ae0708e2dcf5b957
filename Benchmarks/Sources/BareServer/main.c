// The upper limit for servers and clients: an epoll server in C with minimal work per call.
//
// usage: BareServer; prints its port.
//
// Finds the id and responds with a message of 100 characters, to rpc.hello with the required members, and to reflection
// with UNIMPLEMENTED. Requests must be smaller than 64 KiB.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 1 << 18, OUT_BYTES = 1 << 20, ANSWER_BYTES_MAX = 256, PEERS_MAX = 1024 };

struct peer {
  int fd;
  size_t in_count;
  char in[IN_BYTES];
};

static char out[OUT_BYTES];
static char result[160];

static void put_answer(size_t *count, const char *frame, size_t size) {
  const char *id = memmem(frame, size, "\"id\":", 5);
  if (!id) return;
  size_t id_count = strcspn(id += 5, ",}");
  const char *text = result;
  if (memmem(frame, size, "\"rpc.hello\"", 11)) {
    text = "\"result\":{\"version\":\"1\",\"agent\":\"c\",\"maxFrameBytes\":4194304,\"maxConcurrentCalls\":10000}}";
  } else if (memmem(frame, size, "ReflectionService", 17)) {
    text = "\"error\":{\"code\":-32601,\"message\":\"none\",\"data\":{\"status\":\"UNIMPLEMENTED\",\"processed\":false}}}";
  }
  char *at = out + *count;
  int length = snprintf(at + 4, ANSWER_BYTES_MAX - 4, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s", (int)id_count, id, text);
  uint32_t prefix = htonl((uint32_t)length);
  memcpy(at, &prefix, 4);
  *count += 4 + (size_t)length;
}

// Responds to the requests received. Returns false if the peer has closed the connection.
static int serve(struct peer *p) {
  ssize_t n = recv(p->fd, p->in + p->in_count, sizeof p->in - p->in_count - 1, MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return 1;
  if (n <= 0) return 0;
  p->in_count += (size_t)n;
  p->in[p->in_count] = 0;
  size_t at = 0, count = 0;
  while (p->in_count - at >= 4) {
    uint32_t length;
    memcpy(&length, p->in + at, 4);
    length = ntohl(length);
    if (length > 65535) return 0;
    if (p->in_count - at - 4 < length) break;
    put_answer(&count, p->in + at + 4, length);
    at += 4 + length;
    if (count > sizeof out - ANSWER_BYTES_MAX) break;
  }
  memmove(p->in, p->in + at, p->in_count - at);
  p->in_count -= at;
  for (size_t sent = 0; sent < count;) {
    ssize_t m = send(p->fd, out + sent, count - sent, MSG_NOSIGNAL);
    if (m <= 0) return 0;
    sent += (size_t)m;
  }
  return 1;
}

int main(void) {
  char payload[101];
  memset(payload, 'x', 100);
  payload[100] = 0;
  snprintf(result, sizeof result, "\"result\":{\"payload\":\"%s\"}}", payload);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, PEERS_MAX)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[64];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int n = epoll_wait(poll, events, 64, -1);
    for (int i = 0; i < n; i++) {
      struct peer *p = events[i].data.ptr;
      if (p) {
        if (serve(p)) continue;
        close(p->fd);
        free(p);
        continue;
      }
      int fd = accept4(listener, NULL, NULL, 0), one = 1;
      if (fd < 0) continue;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      if (!(p = calloc(1, sizeof *p))) return 1;
      p->fd = fd;
      event.data.ptr = p;
      epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    }
  }
}
