// A load generator for HTTP/1.1: C persistent connections with one request at a time each, for a given time.
//
// usage: HTTPLoad PORT CONNECTIONS WARMUP_MS DURATION_MS REQUEST_FILE
// The file is sent unchanged as the request. Responses must have a Content-Length. Prints one line of JSON: calls,
// seconds, p50 and p99 in microseconds, and the number of error responses (those with a status other than 200).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RECEIVE_BYTES = 1 << 16, CONNECTIONS_MAX = 10000, REQUEST_BYTES_MAX = 1 << 16, SAMPLES_MAX = 1 << 22 };

struct connection {
  int fd;
  char *in;
  size_t in_count;
  uint64_t sent_at;
};

static char request[REQUEST_BYTES_MAX];
static size_t request_count;
static uint64_t calls, errors, sample_count;
static uint32_t *samples;
static int measuring;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void ask(struct connection *c) {
  c->sent_at = now_ns();
  // The request fits into any socket buffer, and the buffer is empty.
  if (send(c->fd, request, request_count, MSG_NOSIGNAL) != (ssize_t)request_count) die("send");
}

// Returns the size of the response at the start of the buffer; 0 if it is not complete yet.
static size_t answer_count(const struct connection *c) {
  const char *end = memmem(c->in, c->in_count, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head = (size_t)(end - c->in) + 4;
  for (const char *line = c->in; line < end;) {
    line = (const char *)memmem(line, (size_t)(end + 2 - line), "\r\n", 2) + 2;
    if (strncasecmp(line, "content-length:", 15) == 0) {
      size_t count = head + strtoull(line + 15, NULL, 10);
      return c->in_count >= count ? count : 0;
    }
  }
  fprintf(stderr, "a response has no Content-Length: %.*s\n", (int)head, c->in);
  exit(1);
}

static void readable(struct connection *c) {
  ssize_t n = recv(c->fd, c->in + c->in_count, RECEIVE_BYTES - c->in_count, 0);
  if (n == 0) {
    fprintf(stderr, "the server closed the connection\n");
    exit(1);
  }
  if (n < 0) {
    if (errno == EAGAIN) return;
    die("recv");
  }
  c->in_count += (size_t)n;
  size_t count = answer_count(c);
  if (count == 0) return;
  calls++;
  if (memcmp(c->in, "HTTP/1.1 200", 12)) errors++;
  uint64_t taken = now_ns() - c->sent_at;
  if (measuring && sample_count < SAMPLES_MAX) samples[sample_count++] = taken > UINT32_MAX ? UINT32_MAX : (uint32_t)taken;
  memmove(c->in, c->in + count, c->in_count - count);
  c->in_count -= count;
  ask(c);
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: HTTPLoad PORT CONNECTIONS WARMUP_MS DURATION_MS REQUEST_FILE\n");
    return 64;
  }
  int port = atoi(argv[1]), count = atoi(argv[2]);
  if (count < 1 || count > CONNECTIONS_MAX) {
    fprintf(stderr, "CONNECTIONS must be 1 to %d\n", CONNECTIONS_MAX);
    return 64;
  }
  uint64_t warmup = strtoull(argv[3], NULL, 10) * 1000000u, duration = strtoull(argv[4], NULL, 10) * 1000000u;
  FILE *file = fopen(argv[5], "rb");
  if (!file) die(argv[5]);
  request_count = fread(request, 1, sizeof request, file);
  fclose(file);
  samples = malloc(sizeof *samples * SAMPLES_MAX);

  int poll = epoll_create1(0);
  struct connection *connections = calloc((size_t)count, sizeof *connections);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < count; i++) {
    struct connection *c = &connections[i];
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) die("connect");
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->in = malloc(RECEIVE_BYTES);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
  }
  uint64_t start = now_ns(), measured_from = 0, end = start + warmup + duration, now;
  for (int i = 0; i < count; i++) ask(&connections[i]);
  struct epoll_event events[256];
  while ((now = now_ns()) < end) {
    if (!measuring && now >= start + warmup) {
      measuring = 1;
      measured_from = now;
      calls = errors = 0;
    }
    int n = epoll_wait(poll, events, 256, 100);
    for (int i = 0; i < n; i++) readable(events[i].data.ptr);
  }
  qsort(samples, sample_count, sizeof *samples, by_value);
  double p50 = sample_count ? samples[sample_count / 2] / 1000.0 : 0;
  double p99 = sample_count ? samples[sample_count * 99 / 100] / 1000.0 : 0;
  printf("{\"calls\":%llu,\"seconds\":%.6f,\"p50Us\":%.2f,\"p99Us\":%.2f,\"errors\":%llu}\n", (unsigned long long)calls,
         (double)(now - measured_from) / 1e9, p50, p99, (unsigned long long)errors);
  return 0;
}
