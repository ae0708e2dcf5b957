// A load generator for length-prefixed frames: C connections with F requests in flight each, for a given time.
//
// usage: FrameLoad PORT CONNECTIONS IN_FLIGHT WARMUP_MS DURATION_MS REQUEST_FILE [HELLO_FILE]
// A request is a JSON text in which @ID@ is replaced by the id; without @ID@ every frame is the same. Each line of the
// file is a request, and they are sent in turn; all of them contain @ID@, or none. Each connection first sends the
// hello, if there is one, and waits for the response. Prints one line of JSON: calls, seconds, p50 and p99 in
// microseconds, and the number of error responses (those that contain the text "error":).
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

enum { REQUESTS_MAX = 16384, RECEIVE_BYTES = 1 << 23, CONNECTIONS_MAX = 20000, IN_FLIGHT_MAX = 4096, SAMPLES_MAX = 1 << 22 };

struct connection {
  int fd;
  char *in;
  size_t in_count;
  char *out;
  size_t out_count, out_sent;
  uint64_t next_id;
  uint64_t *sent_at;
};

struct request {
  char *before, *after;
  size_t before_count, after_count;
};

static struct request requests[REQUESTS_MAX];
static size_t request_count, request_bytes_max;
static int has_id, in_flight;
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

static char *read_file(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file) die(path);
  char *bytes = malloc(1 << 22);
  *count = fread(bytes, 1, 1 << 22, file);
  while (*count > 0 && bytes[*count - 1] == '\n') (*count)--;
  fclose(file);
  return bytes;
}

static void read_requests(char *text, size_t count) {
  for (char *line = text, *end = text + count; line < end && request_count < REQUESTS_MAX;) {
    char *next = memchr(line, '\n', (size_t)(end - line));
    size_t bytes = (size_t)((next ? next : end) - line);
    char *mark = memmem(line, bytes, "@ID@", 4);
    struct request *r = &requests[request_count++];
    has_id = mark != NULL;
    r->before = line;
    r->before_count = mark ? (size_t)(mark - line) : bytes;
    r->after = mark ? mark + 4 : line + bytes;
    r->after_count = mark ? bytes - r->before_count - 4 : 0;
    if (bytes > request_bytes_max) request_bytes_max = bytes;
    line = next ? next + 1 : end;
  }
  if (request_count == 0) {
    fprintf(stderr, "the request file is empty\n");
    exit(64);
  }
}

static void put_frame(struct connection *c, uint64_t now) {
  char id[24];
  const struct request *r = &requests[c->next_id % request_count];
  int id_count = has_id ? snprintf(id, sizeof id, "%llu", (unsigned long long)c->next_id) : 0;
  uint32_t length = htonl((uint32_t)(r->before_count + (size_t)id_count + r->after_count));
  char *at = c->out + c->out_count;
  memcpy(at, &length, 4);
  memcpy(at + 4, r->before, r->before_count);
  memcpy(at + 4 + r->before_count, id, (size_t)id_count);
  memcpy(at + 4 + r->before_count + id_count, r->after, r->after_count);
  c->out_count += 4 + r->before_count + (size_t)id_count + r->after_count;
  c->sent_at[c->next_id % IN_FLIGHT_MAX] = now;
  c->next_id++;
}

static void flush_out(struct connection *c) {
  while (c->out_sent < c->out_count) {
    ssize_t n = send(c->fd, c->out + c->out_sent, c->out_count - c->out_sent, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EAGAIN) return;
      die("send");
    }
    c->out_sent += (size_t)n;
  }
  c->out_count = c->out_sent = 0;
}

static void answered(struct connection *c, const char *frame, size_t count, uint64_t now) {
  calls++;
  if (memmem(frame, count, "\"error\":", 8)) errors++;
  uint64_t id = c->next_id - (uint64_t)in_flight;
  if (has_id) {
    const char *found = memmem(frame, count, "\"id\":", 5);
    if (found) id = strtoull(found + 5, NULL, 10);
  }
  if (measuring && sample_count < SAMPLES_MAX) {
    uint64_t taken = now - c->sent_at[id % IN_FLIGHT_MAX];
    samples[sample_count++] = taken > UINT32_MAX ? UINT32_MAX : (uint32_t)taken;
  }
  put_frame(c, now);
}

static void readable(struct connection *c) {
  for (;;) {
    ssize_t n = recv(c->fd, c->in + c->in_count, RECEIVE_BYTES - c->in_count, 0);
    if (n == 0) {
      fprintf(stderr, "the server closed the connection\n");
      exit(1);
    }
    if (n < 0) {
      if (errno == EAGAIN) break;
      die("recv");
    }
    c->in_count += (size_t)n;
    size_t at = 0;
    uint64_t now = now_ns();
    while (c->in_count - at >= 4) {
      uint32_t length;
      memcpy(&length, c->in + at, 4);
      length = ntohl(length);
      if (c->in_count - at - 4 < length) break;
      answered(c, c->in + at + 4, length, now);
      at += 4 + length;
    }
    if (at) memmove(c->in, c->in + at, c->in_count - at);
    c->in_count -= at;
    if ((size_t)n < 65536) break;
  }
  flush_out(c);
}

static void say_hello(int fd, const char *hello, size_t count) {
  uint32_t length = htonl((uint32_t)count);
  char answer[65536];
  if (send(fd, &length, 4, 0) != 4 || send(fd, hello, count, 0) != (ssize_t)count) die("hello");
  if (recv(fd, &length, 4, MSG_WAITALL) != 4 || ntohl(length) > sizeof answer) die("hello");
  if (recv(fd, answer, ntohl(length), MSG_WAITALL) != (ssize_t)ntohl(length)) die("hello");
  if (memmem(answer, ntohl(length), "\"error\":", 8)) {
    fprintf(stderr, "hello: %.*s\n", (int)ntohl(length), answer);
    exit(1);
  }
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: FrameLoad PORT CONNECTIONS IN_FLIGHT WARMUP_MS DURATION_MS REQUEST_FILE [HELLO_FILE]\n");
    return 64;
  }
  int port = atoi(argv[1]), count = atoi(argv[2]);
  in_flight = atoi(argv[3]);
  if (count < 1 || count > CONNECTIONS_MAX || in_flight < 1 || in_flight > IN_FLIGHT_MAX) {
    fprintf(stderr, "CONNECTIONS must be 1 to %d, IN_FLIGHT 1 to %d\n", CONNECTIONS_MAX, IN_FLIGHT_MAX);
    return 64;
  }
  uint64_t warmup = strtoull(argv[4], NULL, 10) * 1000000u, duration = strtoull(argv[5], NULL, 10) * 1000000u;
  size_t text_count, hello_count = 0;
  char *text = read_file(argv[6], &text_count), *hello = argc > 7 ? read_file(argv[7], &hello_count) : NULL;
  read_requests(text, text_count);
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
    if (hello) say_hello(c->fd, hello, hello_count);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->in = malloc(RECEIVE_BYTES);
    c->out = malloc((request_bytes_max + 64) * (size_t)in_flight * 2 + 65536);
    c->sent_at = malloc(sizeof(uint64_t) * IN_FLIGHT_MAX);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
  }
  uint64_t start = now_ns();
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < in_flight; k++) put_frame(&connections[i], start);
    flush_out(&connections[i]);
  }
  uint64_t measured_from = 0, end = start + warmup + duration, now;
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
