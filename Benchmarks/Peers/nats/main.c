// The echo as request and reply through a NATS server, with NATS's C client: IN_FLIGHT requests on one connection.
//
// usage: nats serve PORT                          replies to requests on the subject "echo"; prints "ready"
//        nats load PORT IN_FLIGHT CALLS SIZE      prints the calls per second
// Replies are matched to requests by the last token of the reply subject, as in NATS's clients.
#include <nats/nats.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT_MAX = 4096 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t done;
  natsConnection *connection;
  char *payload, *inbox;
  int size;
  long sent, ended, calls;
  int failed;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(natsStatus status, const char *what) {
  if (status == NATS_OK) return;
  fprintf(stderr, "%s: %s\n", what, natsStatus_GetText(status));
  exit(1);
}

static natsConnection *connect_to(int port) {
  char url[64];
  natsConnection *connection = NULL;
  natsOptions *options = NULL;
  snprintf(url, sizeof url, "nats://127.0.0.1:%d", port);
  check(natsOptions_Create(&options), "options");
  check(natsOptions_SetURL(options, url), "url");
  // Without this option, the client buffers data for up to 2 ms.
  check(natsOptions_SetSendAsap(options, true), "send");
  check(natsConnection_Connect(&connection, options), "connect");
  natsOptions_Destroy(options);
  return connection;
}

static void answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure) {
  (void)subscription, (void)closure;
  if (natsMsg_GetReply(message)) {
    check(natsConnection_Publish(connection, natsMsg_GetReply(message), natsMsg_GetData(message), natsMsg_GetDataLength(message)),
          "publish");
  }
  natsMsg_Destroy(message);
}

// Sends the next request of a slot. Returns false if all were sent. The caller holds the lock.
static int ask(int place) {
  char reply[128];
  if (state.sent == state.calls) return 0;
  state.sent++;
  snprintf(reply, sizeof reply, "%s.%d", state.inbox, place);
  check(natsConnection_PublishRequest(state.connection, "echo", reply, state.payload, state.size), "request");
  return 1;
}

static void replied(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure) {
  (void)connection, (void)subscription, (void)closure;
  const char *dot = strrchr(natsMsg_GetSubject(message), '.');
  int place = dot ? atoi(dot + 1) : 0;
  pthread_mutex_lock(&state.lock);
  if (natsMsg_GetDataLength(message) != state.size) state.failed = 1;
  state.ended++;
  ask(place);
  if (state.ended == state.calls) pthread_cond_signal(&state.done);
  pthread_mutex_unlock(&state.lock);
  natsMsg_Destroy(message);
}

static void serve(int port) {
  natsConnection *connection = connect_to(port);
  natsSubscription *subscription = NULL;
  check(natsConnection_Subscribe(&subscription, connection, "echo", answer, NULL), "subscribe");
  check(natsConnection_Flush(connection), "flush");
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

static void load(int port, int in_flight, long calls, int size) {
  state.connection = connect_to(port);
  state.calls = calls;
  state.size = size;
  state.payload = malloc((size_t)size);
  if (!state.payload) exit(1);
  memset(state.payload, 'x', (size_t)size);
  natsInbox *inbox = NULL;
  natsSubscription *subscription = NULL;
  char all[128];
  check(natsInbox_Create(&inbox), "inbox");
  state.inbox = inbox;
  snprintf(all, sizeof all, "%s.*", inbox);
  check(natsConnection_Subscribe(&subscription, state.connection, all, replied, NULL), "subscribe");
  check(natsConnection_Flush(state.connection), "flush");
  uint64_t start = now_ns();
  pthread_mutex_lock(&state.lock);
  for (int place = 0; place < in_flight; place++) ask(place);
  while (state.ended < state.calls) pthread_cond_wait(&state.done, &state.lock);
  pthread_mutex_unlock(&state.lock);
  double seconds = (double)(now_ns() - start) / 1e9;
  if (state.failed) {
    fprintf(stderr, "unexpected payload in a reply\n");
    exit(1);
  }
  printf("%.1f\n", (double)calls / seconds);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "serve") == 0) {
    serve(atoi(argv[2]));
  } else if (argc == 6 && strcmp(argv[1], "load") == 0 && atoi(argv[3]) >= 1 && atoi(argv[3]) <= IN_FLIGHT_MAX && atol(argv[4]) > 0) {
    load(atoi(argv[2]), atoi(argv[3]), atol(argv[4]), atoi(argv[5]));
  } else {
    fprintf(stderr, "usage: nats serve PORT | load PORT IN_FLIGHT CALLS SIZE\n");
    return 64;
  }
  return 0;
}
