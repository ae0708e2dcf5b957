// A preloaded library that records the SQL statements of a test process. Writes every statement that SQLite has
// accepted to PID.sqlite in the folder $SQL_RECORD, and every one that libpq was asked to prepare to PID.postgresql.
// Each ends with a zero byte. It does nothing in other programs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct pg_conn PGconn;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *const engines[] = {"sqlite", "postgresql"};
static int descriptors[] = {-1, -1};
enum engine { SQLITE, POSTGRESQL };

static int is_test(void) {
  static int known = -1;
  if (known < 0) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    known = strstr(path, ".xctest") != NULL;
  }
  return known;
}

static void record(enum engine engine, const char *text, const char *end) {
  const char *folder = getenv("SQL_RECORD");
  if (folder == NULL || text == NULL || !is_test()) return;
  size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
  pthread_mutex_lock(&lock);
  int descriptor = descriptors[engine];
  if (descriptor == -1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", folder, (int)getpid(), engines[engine]);
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  if (descriptor >= 0 && (write(descriptor, text, length) < 0 || write(descriptor, "", 1) < 0)) descriptor = -2;
  descriptors[engine] = descriptor;
  pthread_mutex_unlock(&lock);
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int count, unsigned flags, sqlite3_stmt **made, const char **tail) {
  static int (*next)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
  const char *end = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
  int code = next(db, sql, count, flags, made, &end);
  if (tail != NULL) *tail = end;
  if (code == 0) record(SQLITE, sql, end);
  return code;
}

int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int count, sqlite3_stmt **made, const char **tail) {
  static int (*next)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
  const char *end = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
  int code = next(db, sql, count, made, &end);
  if (tail != NULL) *tail = end;
  if (code == 0) record(SQLITE, sql, end);
  return code;
}

int PQsendPrepare(PGconn *connection, const char *name, const char *sql, int count, const unsigned *types) {
  static int (*next)(PGconn *, const char *, const char *, int, const unsigned *);
  if (next == NULL) next = dlsym(RTLD_NEXT, "PQsendPrepare");
  int code = next(connection, name, sql, count, types);
  if (code == 1) record(POSTGRESQL, sql, NULL);
  return code;
}
